// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// The revisions of a cluster-scoped parent are in the server's namespace.
func TestAClusterScopedParentRolls(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	namespace := r.Namespace
	r.Parents = env.Install(t, harness.CRD{Kind: "Thing", ClusterScoped: true})
	r.answer(func(asked request) object {
		parts := r.desired(asked)
		for _, part := range parts {
			part["metadata"].(object)["namespace"] = namespace
		}
		return object{"status": object{}, "children": parts}
	})
	r.RunComposite(r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate))
	// Parents have no namespace, and parts do.
	above := &rolling{fixture: r.in(t), parts: r.parts}
	above.Namespace = ""

	parent := above.CreateParent("a", object{"replicas": int64(2), "version": "1"})
	r.waitForVersions("1", "1")
	r.makeReady("a-0", "a-1")
	r.waitUntilPartsAreSeen()
	above.waitForUpdated("a", "True", "OnLatestRevision", "latest")
	above.rollOut("2")
	r.waitForVersions("2", "1")
	above.waitForUpdated("a", "False", "RolloutWaiting", "child Part "+namespace+"/a-0 failed")
	r.waitForRevisions(2)
	revisions, err := r.revisions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range revisions {
		if owner := metav1.GetControllerOf(&revision); revision.Namespace != aggregation.Namespace || owner == nil || owner.UID != parent.GetUID() {
			t.Errorf("revision %s is in namespace %s and owned by %v", revision.Name, revision.Namespace, owner)
		}
	}
	env.WaitForEvent(t, metav1.NamespaceDefault, "a", "RolloutStarted", "updating Part "+namespace+"/a-0")
	r.makeReady("a-0")
	r.waitForVersions("2", "2")
	r.makeReady("a-1")
	above.waitForUpdated("a", "True", "OnLatestRevision", "latest")
	r.waitForRevisions(1)
	above.DeleteParent("a", metav1.DeletePropagationBackground)
	r.waitForCollection()
}

// collectionTime is a deadline for the host's garbage collector, which learns of a new type of
// parents within half a minute.
const collectionTime = 3 * time.Minute

// waitForCollection waits until the host's garbage collector has deleted the parts and the revisions of all
// parents but these.
func (r *rolling) waitForCollection(except ...string) {
	r.Helper()
	isLeft := func(one metav1.Object) bool {
		owner := metav1.GetControllerOf(one)
		return owner == nil || !slices.Contains(except, owner.Name)
	}
	env.Within(r, collectionTime, func(ctx context.Context) error {
		var left []string
		revisions, err := r.revisions(ctx)
		if err != nil {
			return err
		}
		for _, revision := range revisions {
			if isLeft(&revision) {
				left = append(left, "ControllerRevision "+revision.Name)
			}
		}
		parts, err := r.listParts(ctx)
		if err != nil {
			return err
		}
		for _, part := range parts {
			if isLeft(&part) {
				left = append(left, "Part "+part.GetName())
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("the garbage collector has left %v", left)
		}
		return nil
	})
}

// Metacontroller gives revisions the labels of the parent's Pod template, whether or not its
// selector matches them.
func TestQ5RevisionsWhoseTemplateHasOtherLabels(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	r.answer(func(asked request) object {
		parts := r.desired(asked)
		for _, part := range parts {
			part["metadata"].(object)["labels"] = object{"app": "mine"}
		}
		return object{"status": object{}, "children": parts}
	})
	r.RunComposite(r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate, withSelector))
	r.CreateParent("a", object{
		"replicas": int64(2), "version": "1", "selector": object{"matchLabels": object{"app": "mine"}},
		"template": object{"metadata": object{"labels": object{"app": "other", "tier": "back"}}},
	})
	r.waitForVersions("1", "1")
	r.makeReady("a-0", "a-1")
	r.waitUntilPartsAreSeen()
	r.rollOut("2")
	r.waitForVersions("2", "1")
	r.waitForRevisions(2)
	revisions, err := r.revisions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range revisions {
		if revision.Labels["app"] != "mine" || revision.Labels["tier"] != "back" {
			t.Errorf("the labels of %s are %v", revision.Name, revision.Labels)
		}
	}
	r.makeReady("a-0")
	r.waitForEnd("2", "2")
}

func TestQ3AParentWithoutAStatusRolls(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	r.answer(func(asked request) object { return object{"children": r.desired(asked)} })
	r.RunComposite(r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate))
	r.startAll(2)
	r.rollOut("2")
	r.waitForVersions("2", "1")
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
	r.makeReady("a-0")
	r.waitForEnd("2", "2")
}

// The condition is refreshed also if the hook answers the status that it was sent.
func TestQ16TheConditionOfTheHookIsRefreshed(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	r.answer(func(asked request) object {
		status, _, _ := unstructured.NestedMap(asked.Parent.Object, "status")
		if status == nil {
			status = object{"conditions": []object{
				{"type": "Updated", "status": "Unknown", "message": "the hook's"}, {"type": "Other", "status": "True"},
			}}
		}
		return object{"status": status, "children": r.desired(asked)}
	})
	r.RunComposite(r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate))
	r.startAll(2)
	r.rollOut("2")
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
	r.makeReady("a-0")
	r.waitForEnd("2", "2")
	parent, err := r.GetParent(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	conditions, _, _ := unstructured.NestedSlice(parent.Object, "status", "conditions")
	var kinds []string
	for _, condition := range conditions {
		kinds = append(kinds, condition.(object)["type"].(string))
	}
	if !slices.Equal(kinds, []string{"Updated", "Other"}) {
		t.Errorf("the conditions are %v", conditions)
	}
}

// The customize hook is called for each revision, which is sent its own related objects.
func TestEachRevisionHasItsRelatedObjects(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	synced := answers(t, func(asked request) object {
		parts := r.desired(asked)
		for _, related := range asked.Related["ConfigMap.v1"] {
			for _, part := range parts {
				part["spec"].(object)["setting"] = related["data"].(object)["setting"]
			}
		}
		return object{"status": object{}, "children": parts}
	})
	r.Hook.Handle(func(ctx context.Context, call hook.Call) hook.Answer {
		if call.Path != harness.CustomizePath {
			return synced(ctx, call)
		}
		var asked request
		if err := call.Decode(&asked); err != nil {
			t.Error(err)
		}
		return hook.JSON(object{"relatedResources": []object{
			{"apiVersion": "v1", "resource": "configmaps", "names": []string{"settings-" + versionOf(&asked.Parent)}},
		}})
	})
	for version, setting := range map[string]string{"1": "old", "2": "new"} {
		_, err := env.Kube.CoreV1().ConfigMaps(r.Namespace).Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "settings-" + version}, Data: map[string]string{"setting": setting},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	r.RunComposite(r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate, customizing(v1alpha1.HookVersionV1, v1alpha1.HookVersionV1)))
	r.startAll(2)
	r.rollOut("2")
	r.waitForVersions("2", "1")
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
	r.deletePart("a-1")
	r.waitForSettings("new", "old")
	r.makeReady("a-1", "a-0") // the last has a-1 deleted
	r.waitForEnd("2", "2")
	r.waitForSettings("new", "new")
}

// deletePart deletes a part and waits until it was created again.
func (r *rolling) deletePart(name string) {
	r.Helper()
	parts := env.Dynamic.Resource(r.parts).Namespace(r.Namespace)
	before := r.partUIDs()[name]
	if err := parts.Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
	env.Eventually(r, func(ctx context.Context) error {
		part, err := parts.Get(ctx, name, metav1.GetOptions{})
		if err == nil && part.GetUID() == before {
			err = errors.New("it is still the former one")
		}
		return err
	})
}

func (r *rolling) waitForSettings(want ...string) {
	r.Helper()
	env.Eventually(r, func(ctx context.Context) error {
		parts, err := r.listParts(ctx)
		if err != nil {
			return err
		}
		var got []string
		for _, part := range parts {
			setting, _, _ := unstructured.NestedString(part.Object, "spec", "setting")
			got = append(got, setting)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the settings are %v, want %v", got, want)
		}
		return nil
	})
}

// A controller that stops rolling updates all children at once and deletes the revisions.
func TestRevisionsGoWhenNothingRollsAnyMore(t *testing.T) {
	t.Parallel()
	r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate)
	r.startAll(3)
	r.rollOut("2")
	r.waitForVersions("2", "1", "1")
	rule := harness.ChildRule(r.parts.GroupVersion().String(), r.parts.Resource, v1alpha1.ChildUpdateRecreate)
	r.PatchController(object{"spec": object{"childResources": []any{rule}}})
	r.waitForVersions("2", "2", "2")
	r.waitForRevisions(0)
	r.PatchController(object{"spec": object{"childResources": []any{rollingRule(r.parts, v1alpha1.ChildUpdateRollingRecreate)}}})
	r.waitForEnd("2", "2", "2")
}

// A rollout that Metacontroller has begun goes on: its revisions are found by the labels it gives
// them.
func TestARevisionOfMetacontrollerIsAdopted(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	parent := r.CreateParent("a", object{"replicas": int64(2), "version": "2"})
	left := &v1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.nameOf(parent, `{"spec":{"version":"1"}}`),
			Labels: map[string]string{
				"controller-uid":                 string(parent.GetUID()),
				v1alpha1.GroupName + "/apiGroup": r.Parents.Group, v1alpha1.GroupName + "/resource": r.Parents.Resource,
			},
		},
		ParentPatch: runtime.RawExtension{Raw: []byte(`{"spec":{"version":"1"}}`)},
		Children:    []v1alpha1.ControllerRevisionChildren{{APIGroup: r.parts.Group, Kind: "Part", Names: []string{"a-0", "a-1"}}},
	}
	revisions := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(r.Namespace)
	if _, err := revisions.Create(t.Context(), left, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.RunComposite(r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate))
	r.waitForVersions("2", "1")
	for version, children := range map[string]string{"1": "[a-1]", "2": "[a-0]"} {
		name := r.nameOf(parent, `{"spec":{"version":"`+version+`"}}`)
		env.Eventually(t, func(ctx context.Context) error {
			revision, err := revisions.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if owner := metav1.GetControllerOf(revision); owner == nil || owner.UID != parent.GetUID() {
				return fmt.Errorf("the revision of version %s is owned by %v", version, owner)
			}
			if len(revision.Children) != 1 || fmt.Sprint(revision.Children[0].Names) != children {
				return fmt.Errorf("the revision of version %s names %v, want %s", version, revision.Children, children)
			}
			return nil
		})
	}
	r.makeReady("a-1", "a-0") // the last has a-1 deleted
	r.waitForEnd("2", "2")
}

// nameOf returns the name that Metacontroller gives to a revision of a parent with this patch.
func (r *rolling) nameOf(parent *unstructured.Unstructured, patch string) string {
	return fmt.Sprintf("%s-%x", r.Parents.GroupResource(), sha1.Sum([]byte(string(parent.GetUID())+patch)))
}

// A step of a rollout moves one child, with no more writes than necessary. Nothing is written while
// the rollout waits or after it has ended.
func TestWhatARolloutWrites(t *testing.T) {
	underBothEngines(t, func(t *testing.T, engine change) {
		t.Parallel()
		r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate, engine)
		r.startAll(2)
		r.expectQuiet()
		from := env.AuditEnd(r)
		r.rollOut("2")
		for i := range 2 {
			r.waitForVersions(slices.Concat(slices.Repeat([]string{"2"}, i+1), slices.Repeat([]string{"1"}, 1-i))...)
			r.makeReady(fmt.Sprintf("a-%d", i))
		}
		r.waitForEnd("2", "2")
		r.expectQuiet()
		children := slices.DeleteFunc(r.RequestLines(from, writesOf(r.parts)), func(made string) bool { return strings.Contains(made, "dryRun") })
		if len(children) != 4 {
			t.Errorf("the writes of children are %v, want each deleted and created", children)
		}
		// For each part: it moves, it is missing, it is not ready. At the end, once: the rollout is done.
		if statuses := r.RequestLines(from, writesOf(r.Parents)); len(statuses) > 7 {
			t.Errorf("the condition was written %d times: %v", len(statuses), statuses)
		}

		r.rollOut("3")
		r.waitForVersions("3", "2")
		r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
		r.expectQuiet()
	})
}

// expectQuiet checks that a sync of parent a writes neither to the host nor to revisions.
func (r *rolling) expectQuiet() {
	r.Helper()
	r.Settle("a")
	before, err := r.revisions(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	from := env.AuditEnd(r)
	r.Settle("a")
	for _, of := range []schema.GroupVersionResource{r.Parents, r.parts} {
		env.ExpectNoRequests(r, from, writesOf(of))
	}
	after, err := r.revisions(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	if len(before) != len(after) {
		r.Errorf("the revisions were %v and are %v", before, after)
	}
	for i := range min(len(before), len(after)) {
		if before[i].ResourceVersion != after[i].ResourceVersion {
			r.Errorf("a quiet sync has written revision %s", after[i].Name)
		}
	}
}
