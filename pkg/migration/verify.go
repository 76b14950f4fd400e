// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	migration "github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
)

// Difference is how an object differs on the two sides.
type Difference struct {
	// Object names it.
	Object string
	// What says what differs, and Why how that came, as far as it is known.
	What, Why string
}

func (d Difference) String() string { return d.Object + ": " + d.What + " (" + d.Why + ")" }

// DifferenceError is the error of sides that differ.
type DifferenceError struct{ Differences []Difference }

func (e *DifferenceError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "the two sides differ in %s:", counted(len(e.Differences), "object"))
	for _, difference := range e.Differences {
		fmt.Fprintf(&text, "\n  %s", difference)
	}
	return text.String()
}

// Verify compares the objects of this server with those of the definitions, one by one. Once the server serves the API, it also lists
// what the controllers would write if they ran now. It returns a *DifferenceError if objects differ in more than the status and
// what was changed here since the switch.
func (m *Migration) Verify(ctx context.Context) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	differences := m.verifyObjects(ctx, now)
	if _, ok := errors.AsType[*DifferenceError](differences); differences != nil && !ok || !now.leadsHere() {
		return differences
	}
	if err := m.preview(ctx); err != nil {
		return errors.Join(differences, err)
	}
	return differences
}

// verifyObjects compares the objects.
func (m *Migration) verifyObjects(ctx context.Context, now *situation) error {
	switch now.phase() {
	case PhaseFinished:
		m.say("there are no definitions any more to compare with")
		return nil
	case PhaseNothing, PhaseForeign, PhaseOriginal:
		return fmt.Errorf("nothing was copied yet: migrate copy does that")
	}
	if err := m.ensureImports(ctx); err != nil {
		return err
	}
	there, err := m.read(ctx, copyVersion)
	if err != nil {
		return err
	}
	compared, err := m.compare(ctx, now, there)
	if err != nil {
		return err
	}
	m.say("compared %s: %d the same, %d changed here since, %d different", counted(len(compared.differences)+compared.same+len(compared.changed), "object"), compared.same, len(compared.changed), len(compared.differences))
	for _, changed := range compared.changed[:min(len(compared.changed), maxNamed)] {
		m.say("  %s", changed)
	}
	if more := len(compared.changed) - maxNamed; more > 0 {
		m.say("  and %d more", more)
	}
	if len(compared.differences) > 0 {
		return &DifferenceError{compared.differences}
	}
	return nil
}

// comparison is how the two sides differ.
type comparison struct {
	same int
	// changed are differences that were made at this server on purpose, after it took the API over.
	changed []Difference
	// differences are all others.
	differences []Difference
}

// compare compares the objects of kinds whose definitions are there and not about to go.
func (m *Migration) compare(ctx context.Context, now *situation, there objects) (*comparison, error) {
	c, seen := &comparison{}, map[types.UID]bool{}
	var failure error
	err := m.imports.list(ctx, func(item *migration.Import) {
		reference := &unstructured.Unstructured{}
		if err := reference.UnmarshalJSON(item.Spec.Object.Raw); err != nil {
			failure = err
			return
		}
		uid := types.UID(item.Name)
		seen[uid] = true
		if !now.keeps(reference.GetKind()) {
			return
		}
		if err := c.add(item, reference, there[uid]); err != nil {
			failure = err
		}
	})
	if err == nil {
		err = failure
	}
	for uid, object := range there {
		if !seen[uid] && now.keeps(object.name) {
			c.differences = append(c.differences, Difference{object.String(), "is not here", "it was never copied"})
		}
	}
	byObject := func(a, b Difference) int { return strings.Compare(a.Object, b.Object) }
	slices.SortFunc(c.changed, byObject)
	slices.SortFunc(c.differences, byObject)
	return c, err
}

// add compares one object.
func (c *comparison) add(item *migration.Import, reference *unstructured.Unstructured, there object) error {
	name := object{kind{name: reference.GetKind()}, reference}.String()
	imported := item.Status.SourceResourceVersion
	switch {
	case item.Status.Object == nil && there.Unstructured == nil:
		return nil
	case item.Status.Object == nil:
		c.note(imported == there.GetResourceVersion(), Difference{name, "is not here", "it was deleted here after it was copied"})
		return nil
	case there.Unstructured == nil && imported == "":
		c.changed = append(c.changed, Difference{name, "is only here", "it was created here"})
		return nil
	case there.Unstructured == nil:
		c.differences = append(c.differences, Difference{name, "is only here", "it was deleted in the definitions after it was copied"})
		return nil
	}
	here := &unstructured.Unstructured{}
	if err := here.UnmarshalJSON(item.Status.Object.Raw); err != nil {
		return err
	}
	if err := restore(there.Unstructured); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	paths := differingPaths(comparable(here), comparable(there.Unstructured))
	if len(paths) == 0 {
		c.same++
		return nil
	}
	what := "differs in " + strings.Join(paths, ", ")
	switch {
	case imported == "":
		c.differences = append(c.differences, Difference{name, what, "it was never copied"})
	case imported == there.GetResourceVersion():
		c.note(item.Status.Changed, Difference{name, what, "it was changed here after it was copied"})
	case item.Status.Changed:
		c.differences = append(c.differences, Difference{name, what, "it was changed here and there after it was copied"})
	default:
		c.differences = append(c.differences, Difference{name, what, "it was changed in the definitions after it was copied"})
	}
	return nil
}

func (c *comparison) note(onPurpose bool, difference Difference) {
	if onPurpose {
		c.changed = append(c.changed, difference)
		return
	}
	c.differences = append(c.differences, difference)
}

// comparable returns what must be the same on both sides. The finalizer that this server puts on controllers is not there on
// the way back.
func comparable(of *unstructured.Unstructured) map[string]any {
	content := of.DeepCopy()
	content.SetAPIVersion("")
	content.SetResourceVersion("")
	content.SetManagedFields(nil)
	delete(content.Object, "status")
	finalizers := withoutDrain(content.GetFinalizers())
	if content.SetFinalizers(nil); len(finalizers) > 0 {
		content.SetFinalizers(finalizers)
	}
	return content.Object
}

func withoutDrain(finalizers []string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(name string) bool { return name == v1alpha1.DrainFinalizer })
}

// differingPaths returns the paths of the fields in which two objects differ, in order.
func differingPaths(a, b map[string]any) []string {
	var paths []string
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		inA, isMapA := a[key].(map[string]any)
		inB, isMapB := b[key].(map[string]any)
		switch {
		case isMapA && isMapB:
			for _, path := range differingPaths(inA, inB) {
				paths = append(paths, key+"."+path)
			}
		case !reflect.DeepEqual(a[key], b[key]):
			paths = append(paths, key)
		}
	}
	return paths
}
