// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// slowDiscovery takes a second for each answer.
type slowDiscovery struct {
	*fakeHost

	mu                   sync.Mutex
	asked, running, most int
}

func (d *slowDiscovery) ServerResourcesForGroupVersionWithContext(ctx context.Context, version string) (*metav1.APIResourceList, error) {
	d.mu.Lock()
	d.asked++
	d.running++
	d.most = max(d.most, d.running)
	d.mu.Unlock()
	<-time.After(time.Second)
	d.mu.Lock()
	d.running--
	d.mu.Unlock()
	return d.fakeHost.ServerResourcesForGroupVersionWithContext(ctx, version)
}

func TestTheHostIsAskedForFewVersionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rules []typeRule
		for i := range 200 {
			version := schema.GroupVersion{Group: fmt.Sprintf("group%d.example.com", i%100), Version: "v1"}
			rules = append(rules, typeRule{GroupVersionResource: version.WithResource(fmt.Sprintf("type%d", i))})
		}
		slow := &slowDiscovery{fakeHost: &fakeHost{}}
		if _, _, err := (Host{Types: slow}).lookUpTypes(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
		if slow.asked != 100 || slow.most != 4 {
			t.Errorf("the host was asked for %d versions, %d at once; want 100, 4 at once", slow.asked, slow.most)
		}
	})
}
