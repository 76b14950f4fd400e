// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	migration "github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
)

// exportMode is which objects are written into the definitions.
type exportMode int

const (
	// everything makes the definitions hold what this server has. Nobody else writes to them.
	everything exportMode = iota
	// sinceExported writes what was changed here since it was exported. Others write to the definitions, too.
	sinceExported
)

// exportUntilQuiet writes objects of this server into the definitions, in rounds as copyUntilQuiet.
func (m *Migration) exportUntilQuiet(ctx context.Context, mode exportMode) error {
	e := &exporting{Migration: m, mode: mode, said: map[string]bool{}}
	rounds, err := untilQuiet(ctx, func(ctx context.Context) (int, error) {
		done, err := e.round(ctx)
		e.written += done
		return done, err
	})
	if err != nil {
		return err
	}
	m.say("wrote %s into the CustomResourceDefinitions in %s", counted(e.written, "object"), rounds)
	return e.conflict()
}

// exporting is an export that is under way.
type exporting struct {
	*Migration
	mode    exportMode
	written int
	// said is what was said already.
	said map[string]bool

	mu        sync.Mutex
	conflicts []string
}

// here is an object of this server, or what is known of one that it no longer has.
type here struct {
	object
	// uid is the UID that it has here, from the resourceVersion that it was last the same in the definitions; empty if it never was.
	uid  types.UID
	from string
	// changed is true if it was changed or deleted here since then.
	changed bool
	deleted bool
}

// stored returns the objects that this server has, and those that it had.
func (m *Migration) stored(ctx context.Context) (all []here, err error) {
	var failure error
	err = m.imports.list(ctx, func(item *migration.Import) {
		is := here{uid: types.UID(item.Name), from: item.Status.SourceResourceVersion, changed: item.Status.Changed, deleted: item.Status.Object == nil}
		raw := item.Spec.Object.Raw
		if !is.deleted {
			raw = item.Status.Object.Raw
		}
		is.Unstructured = &unstructured.Unstructured{}
		if err := is.UnmarshalJSON(raw); err != nil {
			failure = err
			return
		}
		index := slices.IndexFunc(kinds(), func(of kind) bool { return of.name == is.GetKind() })
		if index < 0 {
			failure = fmt.Errorf("the server has a %s", is.GetKind())
			return
		}
		is.kind = kinds()[index]
		all = append(all, is)
	})
	return all, errors.Join(err, failure)
}

// round writes what differs. It returns how many objects that were.
func (e *exporting) round(ctx context.Context) (done int, err error) {
	stored, err := e.stored(ctx)
	if err != nil {
		return 0, err
	}
	there, err := e.read(ctx, copyVersion)
	if err != nil {
		return 0, err
	}
	now, err := e.situation(ctx)
	if err != nil {
		return 0, err
	}
	byName := map[string]object{}
	for _, of := range there {
		byName[of.String()] = of
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelImports)
	wanted := map[string]bool{}
	for _, of := range stored {
		if of.deleted {
			continue
		}
		wanted[of.String()] = true
		is, exists := byName[of.String()]
		if e.mode == sinceExported && !e.mayOverwrite(of, is) {
			continue
		}
		exported, foreign, err := export(of.Unstructured, now.definitions[of.resource])
		if err != nil {
			return 0, err
		}
		e.sayForeign(of.object, foreign)
		if exists && isExported(of, exported, is) {
			continue
		}
		if !exists && of.GetDeletionTimestamp() != nil {
			continue // it would come back to life
		}
		done++
		group.Go(func() error { return e.write(groupCtx, of, exported, is) })
	}
	for _, of := range there {
		if wanted[of.String()] || e.mode == sinceExported && !wasDeletedHere(stored, of) {
			continue
		}
		if !wasHere(stored, of) {
			e.sayOnce("  %s is only in its definition, for it was never copied; it stays there", of)
			continue
		}
		done++
		group.Go(func() error { return e.remove(groupCtx, of) })
	}
	return done, group.Wait()
}

// mayOverwrite reports whether an object was changed here, and not in the definition, since it was exported. A change of both is a
// conflict.
func (e *exporting) mayOverwrite(of here, is object) bool {
	if !of.changed {
		return false
	}
	if is.Unstructured == nil {
		return of.from == ""
	}
	if is.GetResourceVersion() != of.from {
		e.conflictOnce(of.String() + ": it was changed here and in its definition at the same time; the definition counts")
		return false
	}
	return true
}

// conflictOnce notes a conflict.
func (e *exporting) conflictOnce(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Contains(e.conflicts, text) {
		e.conflicts = append(e.conflicts, text)
	}
}

// wasDeletedHere reports whether an object of a definition was deleted here, and not changed there, since it was exported.
func wasDeletedHere(stored []here, of object) bool {
	return slices.ContainsFunc(stored, func(is here) bool {
		return is.deleted && is.String() == of.String() && is.from == of.GetResourceVersion()
	})
}

// wasHere reports whether an object of a definition is known here, or was before it was deleted here.
func wasHere(stored []here, of object) bool {
	return wasDeletedHere(stored, of) || slices.ContainsFunc(stored, func(is here) bool { return is.uid == of.GetUID() })
}

// isExported reports whether a definition holds an object as it is here, and this server knows that.
func isExported(of here, exported *unstructured.Unstructured, is object) bool {
	return !of.changed && of.from == is.GetResourceVersion() &&
		(of.GetDeletionTimestamp() == nil) == (is.GetDeletionTimestamp() == nil) &&
		len(differingPaths(inDefinition(exported), inDefinition(is.Unstructured))) == 0
}

// inDefinition returns of an object what an export decides. The rest is the cluster's.
func inDefinition(of *unstructured.Unstructured) map[string]any {
	content := comparable(of)
	metadata := map[string]any{}
	for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if value, found, _ := unstructured.NestedFieldNoCopy(content, "metadata", field); found {
			metadata[field] = value
		}
	}
	content["metadata"] = metadata
	return content
}

// sayOnce says something unless it was said in a round before.
func (e *exporting) sayOnce(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !e.said[text] {
		e.said[text] = true
		e.say("%s", text)
	}
}

// sayForeign says which fields of an object its definition does not have.
func (e *exporting) sayForeign(of object, foreign []foreignField) {
	if len(foreign) == 0 {
		return
	}
	var names []string
	for _, field := range foreign {
		names = append(names, field.String())
	}
	e.sayOnce("  %s has fields that Metacontroller does not know; they are kept in its annotation %s: %s", of, ForeignFieldsAnnotation, strings.Join(names, ", "))
}

// write makes the definition hold an object, and notes that it does. is is what it holds under the name.
func (e *exporting) write(ctx context.Context, of here, exported *unstructured.Unstructured, is object) error {
	client := e.dynamic.Resource(of.in(copyVersion)).Namespace(of.GetNamespace())
	var written *unstructured.Unstructured
	var err error
	switch {
	case is.Unstructured == nil:
		written, err = client.Create(ctx, exported, metav1.CreateOptions{})
	case len(differingPaths(inDefinition(exported), inDefinition(is.Unstructured))) > 0:
		exported.SetResourceVersion(is.GetResourceVersion())
		exported.SetUID(is.GetUID())
		written, err = client.Update(ctx, exported, metav1.UpdateOptions{})
	default:
		written = is.Unstructured
	}
	if err == nil && of.GetDeletionTimestamp() != nil && written.GetDeletionTimestamp() == nil {
		uid := written.GetUID()
		if err = client.Delete(ctx, of.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err == nil {
			written, err = client.Get(ctx, of.GetName(), metav1.GetOptions{})
		}
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return nil // the next round sees it
	}
	if err != nil {
		return fmt.Errorf("write %s into its definition: %w", of, err)
	}
	noted := written.DeepCopy()
	noted.SetUID(of.uid)
	if _, _, err := e.imports.create(ctx, noted, migration.ImportSpec{Exported: true}, false); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("note that %s was written into its definition: %w", of, err)
	}
	return nil
}

// remove removes an object from its definition that this server no longer has.
func (e *exporting) remove(ctx context.Context, of object) error {
	client := e.dynamic.Resource(of.in(copyVersion)).Namespace(of.GetNamespace())
	if len(of.GetFinalizers()) > 0 {
		_, err := client.Patch(ctx, of.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove %s from its definition: %w", of, err)
		}
	}
	uid := of.GetUID()
	err := client.Delete(ctx, of.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove %s from its definition: %w", of, err)
	}
	return nil
}

func (e *exporting) conflict() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.conflicts) == 0 {
		return nil
	}
	return &ConflictError{Conflicts: e.conflicts, Kept: "in the definitions"}
}
