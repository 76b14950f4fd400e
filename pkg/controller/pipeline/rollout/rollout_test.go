// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// heavy is a world in the middle of a rollout, or without one if there is a single version. The
// parent has many fields that revisions remember.
func heavy(t testing.TB, versions ...string) (*world, []*revisions.Stored) {
	w := newWorld(t, "v1")
	w.rules.FieldPaths = nil
	w.has("Pod a v1", "Pod b v1")
	for _, version := range versions {
		w.parent(version, "Pod a", "Pod b")
		content := strings.Replace(string(w.snapshot.Parent.JSON()), `"spec":{`, `"spec":{"fields":{`+fields(300)+`},`, 1)
		w.snapshot.Parent = parseJSON(t, []byte(content))
		w.write(w.decide().Writes)
	}
	return w, records(w.stored)
}

func fields(count int) string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf(`"f%d":{"a":%d}`, i, i))
	}
	return strings.Join(all, ",")
}

// A sync that finds nothing new reads neither the parent's fields nor its revisions again.
func TestAQuietSyncParsesNoRevision(t *testing.T) {
	for name, versions := range map[string][]string{"without a rollout": {"v1"}, "in the middle of one": {"v1", "v2"}} {
		t.Run(name, func(t *testing.T) {
			w, stored := heavy(t, versions...)
			sync := func() {
				opened, err := Open(&w.rules, &w.snapshot, stored, &w.cache)
				if err != nil {
					t.Fatal(err)
				}
				if len(opened.Revisions) != len(versions) {
					t.Fatalf("there are %d revisions, want %d", len(opened.Revisions), len(versions))
				}
				for _, revision := range opened.Revisions {
					if !opened.describes(revision.stored[0], revision) {
						t.Fatalf("the revision %s is not described", revision.Name)
					}
				}
			}
			sync()
			if allocations := testing.AllocsPerRun(10, sync); allocations > 60 {
				t.Errorf("it takes %.0f allocations", allocations)
			}
		})
	}
}

func TestWhatIsKnownIsOfTheParentAsItIs(t *testing.T) {
	w, stored := heavy(t, "v1", "v2")
	open := func() *Rollout {
		t.Helper()
		opened, err := Open(&w.rules, &w.snapshot, stored, &w.cache)
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
	before := open()
	change := func(from, to string) {
		w.snapshot.Parent = parseJSON(t, []byte(strings.Replace(string(w.snapshot.Parent.JSON()), from, to, 1)))
	}

	change(`"metadata":{`, `"metadata":{"labels":{"touched":"yes"},`)
	touched := open()
	if touched.Revisions[0].Name != before.Revisions[0].Name {
		t.Error("a parent whose fields are the same has another revision")
	}
	if earlier := touched.Revisions[1].Parent; earlier.Labels["touched"] != "yes" || wantedVersion(earlier) != `"v1"` {
		t.Errorf("as of the earlier revision the parent is %s", earlier.JSON())
	}

	change(`"version":"v2"`, `"version":"v3"`)
	if changed := open(); changed.Revisions[0].Name == before.Revisions[0].Name || len(changed.Revisions) != 3 {
		t.Errorf("a parent whose fields have changed has %d revisions, the latest %s", len(changed.Revisions), changed.Revisions[0].Name)
	}

	change(`"version":"v3"`, `"version":"v2"`)
	change(`"uid":"parent-uid"`, `"uid":"another"`)
	if replaced := open(); replaced.Revisions[0].Name == before.Revisions[0].Name || len(replaced.Revisions) != 1 {
		t.Errorf("a parent of the same name has %d revisions, the latest %s", len(replaced.Revisions), replaced.Revisions[0].Name)
	}
	if len(w.cache.restored) > 0 || w.cache.from != nil {
		t.Error("earlier versions are kept that nothing is at any more")
	}
}

func wantedVersion(parent *object.Object) string { return string(parent.Lookup("spec", "version")) }

func BenchmarkQuietRollout(b *testing.B) {
	for name, versions := range map[string][]string{"done": {"v1"}, "underWay": {"v1", "v2"}} {
		b.Run(name, func(b *testing.B) {
			w, stored := heavy(b, versions...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Open(&w.rules, &w.snapshot, stored, &w.cache); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

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
	want := []pipeline.Warning{{Reason: v1alpha1.ReasonRevisionIgnored, Message: "ControllerRevision " + forged.Name +
		" records metadata.namespace, spec.children, but the server restores only the field paths that the controller " +
		"rolls out (spec.version); " +
		"all other fields of its children follow the current parent"}}
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
	for name, want := range map[string]string{"p0": version(earlier), "p1": version(1)} { // the first one moves
		if got := versions(decision)[name]; got != want {
			t.Errorf("child %s is wanted at %s, want %s", name, got, want)
		}
	}
	want := []pipeline.Warning{{Reason: v1alpha1.ReasonRevisionIgnored, Message: "there are more than 100 revisions of this " +
		"object, so the server deletes the oldest, and their children stay as they are until the server updates them"}}
	if diff := cmp.Diff(want, decision.Response.Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}
