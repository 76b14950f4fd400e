// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// backup has the objects of a rollout in progress as they are in files.
type backup struct {
	parent    *unstructured.Unstructured
	parts     []unstructured.Unstructured
	revisions []v1alpha1.ControllerRevision
}

// startAndStop has a rollout to version 2 wait for its first child of three, and returns a backup.
func (r *rolling) startAndStop(spec object) backup {
	r.Helper()
	spec["replicas"], spec["version"] = int64(3), "1"
	r.CreateParent("a", spec)
	r.waitForVersions("1", "1", "1")
	r.makeReady("a-1", "a-2")
	r.makeUnready("a-0")
	r.waitUntilPartsAreSeen()
	r.waitForUpdated("a", "True", "OnLatestRevision", "latest ControllerRevision: ")
	r.rollOut("2")
	r.waitForVersions("2", "1", "1")
	r.makeUnready("a-0")
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
	r.waitForRevisions(2)
	var saved backup
	var err error
	if saved.parent, err = r.GetParent(r.Context(), "a"); err != nil {
		r.Fatal(err)
	}
	if saved.parts, err = r.listParts(r.Context()); err != nil {
		r.Fatal(err)
	}
	if saved.revisions, err = r.revisions(r.Context()); err != nil {
		r.Fatal(err)
	}
	return saved
}

func (r *rolling) deleteRevisions(all []v1alpha1.ControllerRevision) {
	r.Helper()
	for _, revision := range all {
		err := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(revision.Namespace).
			Delete(r.Context(), revision.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			r.Fatal(err)
		}
	}
}

// restoreEarlier restores the revision that is not the current one. It also names the child that has moved, as one
// does that was saved before.
func (r *rolling) restoreEarlier(from []v1alpha1.ControllerRevision, change func(*v1alpha1.ControllerRevision)) {
	r.Helper()
	i := slices.IndexFunc(from, func(of v1alpha1.ControllerRevision) bool {
		return of.Annotations[v1alpha1.CurrentRevisionAnnotation] == ""
	})
	restored := from[i].DeepCopy()
	restored.UID, restored.ResourceVersion = "", ""
	restored.Children[0].Names = []string{"a-0", "a-1", "a-2"}
	change(restored)
	api := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(r.Namespace)
	if _, err := api.Create(r.Context(), restored, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
	// The server reconciles it, although nothing else changes.
	env.Eventually(r, func(ctx context.Context) error {
		found, err := api.Get(ctx, restored.Name, metav1.GetOptions{})
		if err == nil && !slices.Equal(found.Children[0].Names, []string{"a-1", "a-2"}) {
			err = fmt.Errorf("the earlier revision names %v", found.Children)
		}
		return err
	})
}

// finish has the children become ready one after the other, and waits for the end of the rollout.
func (r *rolling) finish() {
	r.Helper()
	r.waitForVersions("2", "1", "1")
	r.makeUnready("a-1")
	r.makeReady("a-0")
	r.waitForVersions("2", "2", "1")
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-1")
	r.makeReady("a-1")
	r.waitForEnd("2", "2", "2")
}

// Files and tools restore controllers before revisions. Until the revisions are there, the server does not know at
// which one the children are, and moves them one by one all the same.
func TestQ51ARolloutContinuesWithoutItsRevisions(t *testing.T) {
	t.Parallel()
	for method, engine := range map[v1alpha1.ChildUpdateMethod]v1alpha1.ChildApplyStrategy{
		v1alpha1.ChildUpdateRollingRecreate: v1alpha1.ChildApplyDynamic,
		v1alpha1.ChildUpdateRollingInPlace:  v1alpha1.ChildApplyServerSide,
	} {
		t.Run(fmt.Sprint(method, " ", engine), func(t *testing.T) {
			t.Parallel()
			r := startRolling(t, method, applied(engine))
			saved := r.startAndStop(object{})
			r.DeleteController()
			r.WaitUntilControllerIsGone()
			r.deleteRevisions(saved.revisions)
			before := r.partUIDs()
			r.RunComposite(r.rollingSpec(method, applied(engine)))
			r.waitForRevisions(1)
			r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
			r.Settle("a")
			r.waitForVersions("2", "1", "1")
			if engine == v1alpha1.ChildApplyDynamic { // the other comes back without it
				r.restoreEarlier(saved.revisions, func(*v1alpha1.ControllerRevision) {})
			}
			if after := r.partUIDs(); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("the parts are %v, and were %v", after, before)
			}
			r.finish()
		})
	}
}

// deleteAll deletes the controller and all that a backup has.
func (r *rolling) deleteAll(saved backup) {
	r.Helper()
	r.DeleteController()
	r.WaitUntilControllerIsGone()
	r.DeleteParent("a", metav1.DeletePropagationBackground)
	r.deleteRevisions(saved.revisions)
	for _, part := range saved.parts { // the garbage collector would need longer
		parts := env.Dynamic.Resource(r.parts).Namespace(r.Namespace)
		err := parts.Delete(r.Context(), part.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			r.Fatal(err)
		}
	}
	r.waitForVersions()
}

// restoreParts creates the parts of a backup without owners, and returns their UIDs.
func (r *rolling) restoreParts(saved backup) map[string]types.UID {
	r.Helper()
	for _, part := range saved.parts {
		part.SetUID("")
		part.SetResourceVersion("")
		part.SetOwnerReferences(nil)
		_, err := env.Dynamic.Resource(r.parts).Namespace(r.Namespace).Create(r.Context(), &part, metav1.CreateOptions{})
		if err != nil {
			r.Fatal(err)
		}
	}
	r.makeUnready("a-0")
	r.makeReady("a-1", "a-2")
	return r.partUIDs()
}

// Everything is deleted, and restored by a tool that leaves out UIDs and owners: controllers, parents, children,
// revisions. The hook is up last.
func TestARolloutGoesOnAfterEverythingWasRestored(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	var isDown atomic.Bool
	desired := answers(t, func(asked request) object {
		parts := r.desired(asked)
		for _, part := range parts {
			part["metadata"].(object)["labels"] = object{"app": "mine"}
		}
		return object{"status": object{}, "children": parts}
	})
	r.Hook.Handle(func(ctx context.Context, call hook.Call) hook.Answer {
		if isDown.Load() {
			return hook.Text(503, "starting")
		}
		return desired(ctx, call)
	})
	spec := r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate, withSelector)
	r.RunComposite(spec)
	saved := r.startAndStop(object{"selector": object{"matchLabels": object{"app": "mine"}}})
	r.deleteAll(saved)

	isDown.Store(true)
	r.RunComposite(spec)
	content, _, _ := unstructured.NestedMap(saved.parent.Object, "spec")
	r.CreateParent("a", content)
	before := r.restoreParts(saved)
	isDown.Store(false)
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
	r.waitForRevisions(1)
	r.restoreEarlier(saved.revisions, func(of *v1alpha1.ControllerRevision) { of.OwnerReferences = nil })
	if after := r.partUIDs(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the parts are %v, and were %v", after, before)
	}
	r.finish()
}

// Velero restores children before their parent, and the labels of the children are those of the former parent. They
// become children when the user runs kubectl metacontroller adopt.
func TestARolloutGoesOnAfterItsChildrenWereAdopted(t *testing.T) {
	t.Parallel()
	r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate)
	saved := r.startAndStop(object{})
	r.deleteAll(saved)
	before := r.restoreParts(saved)
	r.RunComposite(r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate))
	content, _, _ := unstructured.NestedMap(saved.parent.Object, "spec")
	r.CreateParent("a", content)
	env.WaitForEvent(t, r.Namespace, "a", "ChildNameTaken", "kubectl metacontroller adopt")
	for _, revision := range saved.revisions {
		revision.UID, revision.ResourceVersion, revision.OwnerReferences = "", "", nil
		api := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(r.Namespace)
		if _, err := api.Create(t.Context(), &revision, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	plugin, err := env.PluginBinary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), plugin, "adopt", "things."+r.Parents.Group+"/a", "-n", r.Namespace)
	command.Env = append(os.Environ(), "KUBECONFIG="+env.Host.AdminKubeconfig())
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")
	r.waitForRevisions(2)
	if after := r.partUIDs(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the parts are %v, and were %v", after, before)
	}
	r.finish()
}
