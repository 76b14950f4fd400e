// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"strings"
	"testing"
)

// The plan says of each controller what will be different here, what authors will be told, and which rights they need.
func TestTheWholePlan(t *testing.T) {
	w := newWorld(t, "--require-service-account")
	e, _ := newEstate(w, shapesOf(8))
	e.leave(1)
	env.Apply(t, fmt.Sprintf(plain, "a", "http://127.0.0.1:1"))
	w.migrate("check") // it registers the API of the migration, by which the server can be asked
	before := w.touched()
	said := w.migrate("--dry-run")
	things, parts := e.things.GroupResource(), e.parts.GroupResource()
	for _, part := range []string{
		"7 CompositeControllers", "2 DecoratorControllers", "ControllerRevisions",
		"CompositeController rolling-4, CompositeController rollingrecreate-5: " + parts.Resource + " are rolled one by one to the end",
		"2 objects of its parents' type in the middle of a rolling update, which goes on",
		"CompositeController a: its parents are not of a CustomResourceDefinition, so Metacontroller never ran it",
		"it would be refused if spec was changed: spec.serviceAccount: Required value",
		`CompositeController a: spec.parentResource: the cluster does not serve "things" in example.com/v1 yet`,
		"CompositeController inplace-1, CompositeController ondelete-0, CompositeController recreate-2: get, list, watch " + things.String() + "; update " +
			things.String() + "/status; get, list, watch, create, update, patch, delete configmaps",
		"migrate copy would", "migrate switch would", "migrate run would", "migrate finish would", "migrate back undoes all of this",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("the plan does not say %q", part)
		}
	}
	if strings.Contains(said, "migrate back would") {
		t.Error("the plan has the way back")
	}
	for _, step := range []string{"copy", "switch", "run", "finish", "back"} {
		if said := w.migrate(step, "--dry-run"); !strings.HasPrefix(said, "migrate "+step+" would") {
			t.Errorf("it does not say what %s would do", step)
		}
	}
	w.expectSame(before)
}

// expectSame fails the test if something was touched.
func (w *world) expectSame(before map[string]string) {
	w.Helper()
	for name, version := range w.touched() {
		if before[name] != version {
			w.Errorf("%s was touched", name)
		}
	}
}
