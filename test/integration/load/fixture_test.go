// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// fixture is the fixture of a CompositeController.
type fixture struct{ harness.Fixture }

type object = harness.Object

// request is the part of a hook's request that the tests read.
type request struct {
	Parent   unstructured.Unstructured             `json:"parent"`
	Children map[string]map[string]json.RawMessage `json:"children"`
}

// prepare returns a fixture without a controller.
func prepare(t *testing.T, handler hook.Handler) *fixture {
	t.Helper()
	return &fixture{harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, hook.Serve(t, handler))}
}

// start runs a controller.
func (f *fixture) start(changes ...harness.CompositeChange) {
	f.Helper()
	f.RunComposite(f.spec(changes...))
}

// spec is that of a controller with ConfigMap children, updated in place, and a generated selector.
// Its hook has time: megabytes take long on a slow machine, and a call that times out is repeated.
func (f *fixture) spec(changes ...harness.CompositeChange) v1alpha1.CompositeControllerSpec {
	patient := func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Sync.Webhook.Timeout = ptr.To(v1alpha1.Duration("2m"))
	}
	return f.CompositeSpec(append([]harness.CompositeChange{patient}, changes...)...)
}

// set changes the value in a parent's spec.
func (f *fixture) set(name, value string) {
	f.Helper()
	f.PatchParent(name, object{"spec": object{"value": value}})
}

// timeUntilValue returns how long it takes until a ConfigMap has a value.
func (f *fixture) timeUntilValue(name, value string) time.Duration {
	f.Helper()
	started := time.Now()
	env.Eventually(f, func(ctx context.Context) error {
		found, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && found.Data["value"] != value {
			err = fmt.Errorf("ConfigMap %s has the value %.100q, not %.100q", name, found.Data["value"], value)
		}
		return err
	})
	return time.Since(started)
}

// settle waits until a sync of a parent is over that saw all earlier changes, and returns how often
// the hook was called by then.
func (f *fixture) settle(name string) int {
	f.Helper()
	f.Settle(name)
	return len(f.Hook.Calls())
}

// slowness returns how much slower the host is now than on the idle machine on which the time
// bounds were set, at least 1.
func (f *fixture) slowness() float64 {
	f.Helper()
	const creates, idle = 200, 800 * time.Millisecond
	client := env.Kube.CoreV1().ConfigMaps(env.Namespace(f))
	started := time.Now()
	for range creates {
		if _, err := client.Create(f.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "pace-"}}, metav1.CreateOptions{}); err != nil {
			f.Fatal(err)
		}
	}
	return max(float64(time.Since(started))/float64(idle), 1)
}

// writes returns the server's writes to a resource of the fixture's namespace.
func (f *fixture) writes(from hostcluster.Position, of schema.GroupVersionResource) []string {
	f.Helper()
	return env.Requests(f, from, hostcluster.Request{Verbs: hostcluster.Writes(), Group: of.Group, Resource: of.Resource, Namespace: f.Namespace})
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// oneConfigMap answers one ConfigMap that is named like the parent and has its value.
func oneConfigMap(asked request) object {
	value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
	return object{"children": []object{hook.ConfigMap(asked.Parent.GetName(), object{"value": value})}}
}
