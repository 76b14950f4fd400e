// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestAForgedRevisionChangesOnlyWhatIsRolledOut(t *testing.T) {
	w := newWorld(t, "v2", "Pod a", "Pod b")
	w.has("Pod a v1", "Pod b v2")
	w.remembers("v1: Pod a", "v2: Pod b")
	forged := w.stored[0]
	forged.Annotations["metacontroller.k8s.io/field-paths"] = `["spec.version","metadata.namespace","spec.children"]`
	forged.ParentPatch.Raw = []byte(`{"metadata":{"namespace":"kube-system"},"spec":{"version":"v1","children":["Pod evil"]}}`)

	earlier := w.open().Revisions[1].Parent
	if earlier.Namespace != "default" || string(earlier.Lookup("spec")) != `{"children":["Pod a","Pod b"],"version":"v1"}` {
		t.Errorf("the parent is %s", earlier.JSON())
	}
	want := []pipeline.Warning{{Reason: pipeline.RevisionIgnored, Message: "ControllerRevision " + forged.Name +
		" records metadata.namespace, spec.children, and only what is within the field paths that the controller rolls out (spec.version) is restored; " +
		"its children become what the hook wants of the parent as it is otherwise"}}
	if diff := cmp.Diff(want, w.decide().Response.Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}

func TestAParentHasABoundedNumberOfRevisions(t *testing.T) {
	w := newWorld(t, "v0")
	var listed []string
	const earlier = maxRevisions + 1
	version := func(i int) string { return fmt.Sprintf("v%c", '一'+i) }
	for i := range earlier {
		listed = append(listed, fmt.Sprint("Pod p", i))
	}
	w.parent(version(earlier), listed...)
	for i := range earlier {
		w.has(listed[i] + " " + version(i))
		w.remembers(version(i) + ": " + listed[i])
	}
	opened := w.open()
	if len(opened.Revisions) != maxRevisions {
		t.Errorf("the hooks are asked about %d revisions", len(opened.Revisions))
	}
	decision := w.decide()
	deleted := slices.DeleteFunc(ops(decision.Writes), func(op string) bool { return !strings.HasPrefix(op, "delete ") })
	if want := []string{"delete " + nameOfV(version(1)), "delete " + nameOfV(version(0))}; !slices.Equal(deleted, want) {
		t.Errorf("writes are %v, want %v", deleted, want)
	}
	for i, name := range []string{"p0", "p1"} {
		if wanted := versions(decision)[name]; wanted != version(earlier) {
			t.Errorf("child %d is wanted at %s", i, wanted)
		}
	}
	want := []pipeline.Warning{{Reason: pipeline.RevisionIgnored, Message: "there are more than 100 revisions of this object, so the children at the oldest are updated at once"}}
	if diff := cmp.Diff(want, decision.Response.Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}
