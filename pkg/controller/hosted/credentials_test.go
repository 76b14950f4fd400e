// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

func TestStaleCredentialsAreRememberedUntilTheyAreGood(t *testing.T) {
	sync, customize := &hook.Webhook{}, &hook.Webhook{}
	ofSync, ofCustomize := errors.New("of sync"), errors.New("of customize")
	var s staleCredentials
	for _, step := range []struct {
		hook *hook.Webhook
		err  error
		want []error
	}{
		{sync, nil, nil},
		{sync, ofSync, []error{ofSync}},
		{customize, ofCustomize, []error{ofSync, ofCustomize}},
		{sync, nil, []error{ofCustomize}},
		{customize, ofSync, []error{ofSync}},
		{customize, nil, nil},
	} {
		_ = s.set(step.hook, step.err)
		got := s.err()
		if (got == nil) != (len(step.want) == 0) {
			t.Errorf("error is %v, want %v", got, step.want)
		}
		for _, want := range step.want {
			if !errors.Is(got, want) {
				t.Errorf("error is %v, want %v", got, want)
			}
		}
	}
}
