// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/cli-utils/pkg/kstatus/polling/event"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/cli-utils/pkg/kstatus/watcher"
	"sigs.k8s.io/cli-utils/pkg/object"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// watchStatus returns the statuses that kstatus has seen of the objects of a release, each time one changes, as kpt and
// `kubectl apply` with an inventory do.
func watchStatus(t *testing.T, manifests ...string) <-chan event.Event {
	t.Helper()
	var set object.ObjMetadataSet
	for _, of := range objects(t, manifests...) {
		set = append(set, object.UnstructuredToObjMetadata(of))
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(env.Kube.Discovery()))
	return watcher.NewDefaultStatusWatcher(env.Dynamic, mapper).Watch(t.Context(), set, watcher.Options{})
}

// waitForStatus waits until kstatus has another status of an object of a name, and returns all until then.
func waitForStatus(t *testing.T, events <-chan event.Event, name string, want status.Status) (seen []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitsFor)
	defer cancel()
	for {
		select {
		case of := <-events:
			if of.Type == event.ErrorEvent {
				t.Fatal(of.Error)
			}
			if of.Resource == nil || of.Resource.Identifier.Name != name {
				continue
			}
			seen = append(seen, fmt.Sprintf("%s: %s", of.Resource.Status, of.Resource.Message))
			if of.Resource.Status == want {
				return seen
			}
		case <-ctx.Done():
			t.Fatalf("%s never is %s, but was %q", name, want, seen)
		}
	}
}

func TestKstatusFollowsTheLifeOfAController(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	env.Apply(t, r.definition())
	env.WaitUntilEstablished(t, "crd/buckets."+r.group)
	events := watchStatus(t, r.controller(), r.parent("first", "small"))
	env.Apply(t, r.controller()+"---\n"+r.parent("first", "small"))

	seen := waitForStatus(t, events, r.name, status.CurrentStatus)
	if !slices.ContainsFunc(seen, func(of string) bool { return strings.HasPrefix(of, "InProgress: ") }) {
		t.Errorf("a new controller was %q", seen)
	}
	env.WaitForConfigMap(t, r.namespace, "first", harness.Exists)

	r.hook.Handle(func(context.Context, hook.Call) hook.Answer { return hook.Text(500, "broken") })
	env.Apply(t, r.parent("first", "large"))
	waitForStatus(t, events, r.name, status.InProgressStatus)
	r.hook.Handle(answer)
	waitForStatus(t, events, r.name, status.CurrentStatus)

	env.Apply(t, r.broken())
	waitForStatus(t, events, r.name, status.FailedStatus)
	env.Apply(t, r.controller())
	waitForStatus(t, events, r.name, status.CurrentStatus)

	env.DeleteController(t, harness.Composite(r.name))
	waitForStatus(t, events, r.name, status.NotFoundStatus)
	if _, err := env.Dynamic.Resource(compositeControllers).Get(t.Context(), r.name, metav1.GetOptions{}); err == nil {
		t.Error("the controller is still there")
	}
}
