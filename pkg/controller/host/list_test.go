// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A reflector takes a watch without an error for one that is there.
func TestAWatchThatIsStoppedBeforeItBeginsIsAnError(t *testing.T) {
	_, client := newFakeHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lister := &listWatch{client: client, of: things}
	if stream, err := lister.watch(ctx, metav1.ListOptions{}); err == nil {
		t.Errorf("watch returned %v and no error", stream)
	}
	if list, err := lister.list(ctx, metav1.ListOptions{}); err == nil {
		t.Errorf("list returned %v and no error", list)
	}
}
