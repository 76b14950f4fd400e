// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The definitions give another UID to what they did not have. Nothing that belongs to a controller by its UID goes with that.
func TestBackWhenTheDefinitionsAreGone(t *testing.T) {
	const parents = 2
	w := newWorld(t)
	e, _ := newEstate(w, shapesOf(8))
	e.leave(parents)
	before, from := e.census(), env.AuditEnd(t)
	w.migrate("switch")
	w.migrate("run")
	w.migrate("finish")
	said, err := w.tryToMigrate("back")
	for _, part := range []string{"8 controllers with a new UID in the definitions: CompositeController finalizing-3", "the garbage collector would delete 8 objects",
		"configmaps " + e.namespace + "/of-inplace-1"} {
		if err == nil || !strings.Contains(said, part) {
			t.Errorf("it does not say %q", part)
		}
	}
	e.expectSurvived(before, "back")
	w.expectPhase("Finished")
	for _, of := range e.shapes {
		_, err := e.in(configMaps).Patch(t.Context(), "of-"+of.name, types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	env.Apply(t, fmt.Sprintf(plain, "made-here", "http://127.0.0.1:1"))
	if said := w.migrate("back"); !strings.Contains(said, "9 controllers with a new UID") || !strings.Contains(said, "CompositeController made-here") {
		t.Error("it does not say what gets a new UID")
	}
	e.waitUntilCollected()
	for name, uid := range e.census() {
		isOurs := strings.HasPrefix(name, "CompositeController") || strings.HasPrefix(name, "DecoratorController") || strings.HasPrefix(name, "ControllerRevision")
		if was, known := before[name]; known && (was == uid) == isOurs {
			t.Errorf("%s was %s and is %s", name, was, uid)
		}
		delete(before, name)
	}
	if len(before) > 0 {
		t.Errorf("these are gone: %v", before)
	}
	w.expectPhase("Original")
	e.expectNoChildWrites(from)
}
