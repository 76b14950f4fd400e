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

// rolling is a fixture whose children are Parts. A parent has spec.replicas of them, with its
// spec.version. They roll one by one when they are Ready. Only a change of the version is rolled
// out.
type rolling struct {
	*fixture
	parts schema.GroupVersionResource
}

func startRolling(t *testing.T, method v1alpha1.ChildUpdateMethod, changes ...change) *rolling {
	t.Helper()
	r := prepareRolling(t)
	r.RunComposite(r.rollingSpec(method, changes...))
	return r
}

// prepareRolling returns the fixture without a controller.
func prepareRolling(t *testing.T) *rolling {
	t.Helper()
	r := &rolling{parts: env.Install(t, harness.CRD{Kind: "Part"})}
	r.fixture = prepare(t, hook.Serve(t, answers(t, func(asked request) object {
		return object{"status": object{}, "children": r.desired(asked)}
	})))
	return r
}

// answer replaces the answers of the hook.
func (r *rolling) answer(answer func(request) object) { r.Hook.Handle(answers(r, answer)) }

// desired returns the parts of a parent.
func (r *rolling) desired(asked request) (parts []object) {
	replicas, _, _ := unstructured.NestedInt64(asked.Parent.Object, "spec", "replicas")
	for i := range replicas {
		parts = append(parts, r.part(fmt.Sprintf("%s-%d", asked.Parent.GetName(), i), versionOf(&asked.Parent)))
	}
	return parts
}

func (r *rolling) part(name, version string) object {
	return object{
		"apiVersion": r.parts.GroupVersion().String(), "kind": "Part",
		"metadata": object{"name": name}, "spec": object{"version": version},
	}
}

func versionOf(of *unstructured.Unstructured) string {
	version, _, _ := unstructured.NestedString(of.Object, "spec", "version")
	return version
}

func (r *rolling) rollingSpec(method v1alpha1.ChildUpdateMethod, changes ...change) v1alpha1.CompositeControllerSpec {
	spec := r.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.RevisionHistory = &v1alpha1.CompositeControllerRevisionHistory{FieldPaths: []string{"spec.version"}}
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{rollingRule(r.parts, method)}
	})
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

// rollingRule declares a type of children that roll when they are Ready.
func rollingRule(of schema.GroupVersionResource, method v1alpha1.ChildUpdateMethod) v1alpha1.CompositeControllerChildResourceRule {
	rule := harness.ChildRule(of.GroupVersion().String(), of.Resource, method)
	rule.UpdateStrategy.StatusChecks = &v1alpha1.ChildUpdateStatusChecks{
		Conditions: []v1alpha1.StatusConditionCheck{{Type: "Ready", Status: ptr.To("True")}},
	}
	return rule
}

// listParts returns the parts, by their names.
func (r *rolling) listParts(ctx context.Context) ([]unstructured.Unstructured, error) {
	parts, err := env.Dynamic.Resource(r.parts).Namespace(r.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(parts.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return parts.Items, nil
}

// waitForVersions waits until the parts of a parent have these versions, in order.
func (r *rolling) waitForVersions(versions ...string) {
	r.Helper()
	env.Eventually(r, func(ctx context.Context) error {
		parts, err := r.listParts(ctx)
		if err != nil {
			return err
		}
		var got []string
		for _, part := range parts {
			got = append(got, versionOf(&part))
		}
		if !slices.Equal(got, versions) {
			return fmt.Errorf("the parts are %v, want %v", got, versions)
		}
		return nil
	})
}

// partUIDs are the identities of the parts, by their names.
func (r *rolling) partUIDs() map[string]types.UID {
	r.Helper()
	parts, err := r.listParts(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, part := range parts {
		uids[part.GetName()] = part.GetUID()
	}
	return uids
}

// startAll creates the parent a with so many parts of version 1 and waits until all are ready.
func (r *rolling) startAll(replicas int) {
	r.Helper()
	r.CreateParent("a", object{"replicas": int64(replicas), "version": "1"})
	r.waitForVersions(slices.Repeat([]string{"1"}, replicas)...)
	for i := range replicas {
		r.makeReady(fmt.Sprintf("a-%d", i))
	}
	r.waitUntilPartsAreSeen()
	r.waitForUpdated("a", "True", "OnLatestRevision", "latest ControllerRevision: ")
	r.waitForRevisions(1)
}

// waitUntilPartsAreSeen waits until the controller has observed the present parts. A rollout that
// starts before it has seen all of them ready would start with one that seems not ready.
func (r *rolling) waitUntilPartsAreSeen() {
	r.Helper()
	parts, err := r.listParts(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	r.waitUntilChildrenAreSent(parts...)
}

// rollOut changes the version of parent a.
func (r *rolling) rollOut(version string) {
	r.Helper()
	r.PatchParent("a", object{"spec": object{"version": version}})
}

// waitForEnd waits until the rollout of parent a is over and nothing is left of it, once all parts are ready.
func (r *rolling) waitForEnd(versions ...string) {
	r.Helper()
	r.waitForVersions(versions...)
	parts, err := r.listParts(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	for _, part := range parts {
		r.makeReady(part.GetName())
	}
	r.waitForUpdated("a", "True", "OnLatestRevision", "latest ControllerRevision: ")
	r.waitForRevisions(1)
}

// makeReady sets the condition Ready of parts, as their controller would.
func (r *rolling) makeReady(names ...string) { r.Helper(); r.setReady("True", names) }

func (r *rolling) makeUnready(names ...string) { r.Helper(); r.setReady("False", names) }

func (r *rolling) setReady(status string, names []string) {
	r.Helper()
	for _, name := range names {
		_, err := env.Dynamic.Resource(r.parts).Namespace(r.Namespace).Patch(r.Context(), name, types.MergePatchType,
			[]byte(`{"status":{"conditions":[{"type":"Ready","status":"`+status+`"}]}}`), metav1.PatchOptions{}, "status")
		if err != nil {
			r.Fatalf("make Ready of %s %s: %v", name, status, err)
		}
	}
}

// waitForUpdated waits until the condition Updated of a parent has these values.
func (r *rolling) waitForUpdated(parent, status, reason, message string) {
	r.Helper()
	env.Eventually(r, func(ctx context.Context) error {
		found, err := r.GetParent(ctx, parent)
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

// revisions returns the revisions of all parents of the fixture's type, in all namespaces.
func (r *rolling) revisions(ctx context.Context) ([]v1alpha1.ControllerRevision, error) {
	revisions, err := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions("").List(ctx,
		metav1.ListOptions{LabelSelector: v1alpha1.GroupName + "/apiGroup=" + r.Parents.Group})
	if err != nil {
		return nil, err
	}
	return revisions.Items, nil
}

func (r *rolling) waitForRevisions(want int) {
	r.Helper()
	env.Eventually(r, func(ctx context.Context) error {
		revisions, err := r.revisions(ctx)
		if err == nil && len(revisions) != want {
			err = fmt.Errorf("there are %d revisions, want %d: %v", len(revisions), want, revisions)
		}
		return err
	})
}

func TestQ2ChildrenRollOneByOne(t *testing.T) {
	t.Parallel()
	for _, engine := range harness.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate, applied(engine))
			r.startAll(3)
			r.rollOut("2")
			r.waitForVersions("2", "1", "1")
			r.waitForUpdated("a", "False", "RolloutWaiting", `child Part a-0 failed status check: required condition type missing: "Ready"`)
			r.waitForRevisions(2)
			env.WaitForEvent(t, r.Namespace, "a", "RolloutStarted", "updating Part a-0")
			r.makeReady("a-0")
			r.waitForVersions("2", "2", "1")
			r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-1 failed")
			r.makeReady("a-1")
			r.waitForEnd("2", "2", "2")
			env.WaitForEvent(t, r.Namespace, "a", "RolloutFinished", "latest ControllerRevision: things.")
		})
	}
}
