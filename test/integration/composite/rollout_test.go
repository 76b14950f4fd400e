// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// rolling is a fixture whose children are Parts of a parent: as many as its spec.replicas, of its
// spec.version, which roll one by one when they are Ready.
type rolling struct {
	*fixture
	parts schema.GroupVersionResource
}

func startRolling(t *testing.T, method v1alpha1.ChildUpdateMethod, engine change) *rolling {
	t.Helper()
	r := &rolling{parts: env.Install(t, harness.CRD{Kind: "Part"})}
	r.fixture = prepare(t, hook.Serve(t, answers(t, func(asked request) object {
		replicas, _, _ := unstructured.NestedInt64(asked.Parent.Object, "spec", "replicas")
		version, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "version")
		var parts []object
		for i := range replicas {
			parts = append(parts, object{
				"apiVersion": r.parts.GroupVersion().String(), "kind": "Part",
				"metadata": object{"name": fmt.Sprintf("%s-%d", asked.Parent.GetName(), i)}, "spec": object{"version": version},
			})
		}
		return object{"status": object{}, "children": parts}
	})))
	r.controller = r.create(r.spec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{childRule(r.parts.GroupVersion().String(), r.parts.Resource, method)}
		spec.ChildResources[0].UpdateStrategy.StatusChecks = &v1alpha1.ChildUpdateStatusChecks{
			Conditions: []v1alpha1.StatusConditionCheck{{Type: "Ready", Status: ptr.To("True")}},
		}
		engine(spec)
	}))
	return r
}

// waitForVersions waits until the parts of a parent have these versions, in order.
func (r *rolling) waitForVersions(versions ...string) {
	r.Helper()
	env.Eventually(r, func(ctx context.Context) error {
		parts, err := env.Dynamic.Resource(r.parts).Namespace(r.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		slices.SortFunc(parts.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
		var got []string
		for _, part := range parts.Items {
			version, _, _ := unstructured.NestedString(part.Object, "spec", "version")
			got = append(got, version)
		}
		if !slices.Equal(got, versions) {
			return fmt.Errorf("the parts are %v, want %v", got, versions)
		}
		return nil
	})
}

// makeReady says that a part is ready, as its own controller would.
func (r *rolling) makeReady(names ...string) {
	r.Helper()
	for _, name := range names {
		_, err := env.Dynamic.Resource(r.parts).Namespace(r.namespace).Patch(r.Context(), name, types.MergePatchType,
			[]byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
		if err != nil {
			r.Fatalf("make %s ready: %v", name, err)
		}
	}
}

// waitForUpdated waits until the parent's condition says this.
func (r *rolling) waitForUpdated(parent, status, reason, message string) {
	r.Helper()
	env.Eventually(r, func(ctx context.Context) error {
		found, err := r.getParent(ctx, parent)
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		for _, one := range conditions {
			condition, _ := one.(object)
			if condition["type"] == "Updated" {
				if condition["status"] == status && condition["reason"] == reason && strings.Contains(fmt.Sprint(condition["message"]), message) && condition["lastTransitionTime"] != nil {
					return nil
				}
				return fmt.Errorf("the condition is %v, want %s %s %s", condition, status, reason, message)
			}
		}
		return errors.New("there is no condition Updated")
	})
}

func (r *rolling) waitForRevisions(want int) {
	r.Helper()
	env.Eventually(r, func(ctx context.Context) error {
		revisions, err := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(r.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(revisions.Items) != want {
			return fmt.Errorf("there are %d revisions, want %d: %v", len(revisions.Items), want, revisions.Items)
		}
		return nil
	})
}

func TestQ2ChildrenRollOneByOne(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate, applied(engine))
			r.parent("a", object{"replicas": int64(3), "version": "1"})
			r.waitForVersions("1", "1", "1")
			r.makeReady("a-0", "a-1", "a-2")
			r.waitForUpdated("a", "True", "OnLatestRevision", "latest ControllerRevision: things.")
			r.waitForRevisions(1)

			r.patchParent("a", `{"spec":{"version":"2"}}`)
			r.waitForVersions("2", "1", "1")
			r.waitForUpdated("a", "False", "RolloutWaiting", `child Part a-0 failed status check: required condition type missing: "Ready"`)
			r.waitForRevisions(2)
			env.WaitForEvent(t, r.namespace, "a", "RolloutStarted", "updating Part a-0")
			r.makeReady("a-0")
			r.waitForVersions("2", "2", "1")
			r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-1 failed")
			r.makeReady("a-1")
			r.waitForVersions("2", "2", "2")
			r.waitForUpdated("a", "True", "OnLatestRevision", "latest ControllerRevision: things.")
			r.waitForRevisions(1)
			env.WaitForEvent(t, r.namespace, "a", "RolloutFinished", "latest ControllerRevision: things.")
		})
	}
}
