// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
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
