// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	migration "github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
)

// maxNamed is how many objects a message names.
const maxNamed = 10

// parallelImports is how many objects are imported at once.
const parallelImports = 8

// Copy copies all objects into the storage of this server, until nothing changes any more. Metacontroller goes on meanwhile.
func (m *Migration) Copy(ctx context.Context) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	if now.leadsHere() {
		return m.copyRest(ctx)
	}
	if err := m.prepare(ctx, now); err != nil {
		return err
	}
	return m.copyUntilQuiet(ctx, true)
}

// prepare makes both sides reachable, unless something stands in the way: then nothing is touched.
func (m *Migration) prepare(ctx context.Context, now *situation) error {
	if err := now.mayCopy(); err != nil {
		return err
	}
	if err := m.ensureRights(ctx); err != nil {
		return err
	}
	if err := m.ensureImports(ctx); err != nil {
		return err
	}
	found, err := m.find(ctx)
	if err != nil {
		return err
	}
	if err := found.blocked(); err != nil {
		m.sayFindings(found)
		return err
	}
	return m.addCopyVersions(ctx)
}

// copyRest copies what was changed in the definitions after the last copy and before the APIService was switched. What was
// changed here since stays.
func (m *Migration) copyRest(ctx context.Context) error {
	if err := m.ensureImports(ctx); err != nil {
		return err
	}
	return m.copyUntilQuiet(ctx, false)
}

// copyUntilQuiet copies in rounds, until one has nothing to do, or not much less than the one before: then they are only changed
// faster than they are copied. With overwrite, the objects here become what they are there.
func (m *Migration) copyUntilQuiet(ctx context.Context, overwrite bool) error {
	copied, err := m.newCopy(ctx, overwrite)
	if err != nil {
		return err
	}
	rounds, err := untilQuiet(ctx, copied.round)
	if err != nil {
		return err
	}
	m.say("copied in %s: %s", rounds, copied)
	if overwrite && len(copied.others) > 0 {
		return fmt.Errorf("the server has %s that the definitions do not have, and that would come alive: %s; --discard-others has them removed",
			counted(len(copied.others), "object"), enumerate.First(maxNamed, copied.others))
	}
	return copied.conflict()
}

// rounds is what it took until nothing was left to do.
type rounds struct {
	count, left int
	took        string
}

func (r rounds) String() string {
	text := fmt.Sprintf("%s and %s", r.took, counted(r.count, "round"))
	if r.left > 0 {
		text += fmt.Sprintf(", while about %s changed in each", counted(r.left, "object"))
	}
	return text
}

// untilQuiet does rounds until one has nothing to do, or more than half of what the one before had to do.
func untilQuiet(ctx context.Context, round func(context.Context) (done int, err error)) (rounds, error) {
	began, last := time.Now(), math.MaxInt
	for count := 1; ; count++ {
		done, err := round(ctx)
		if err != nil {
			return rounds{}, err
		}
		if done == 0 || done > last/2 {
			return rounds{count, done, spent(began)}, nil
		}
		last = done
	}
}

// copying is a copy that is under way.
type copying struct {
	*Migration
	overwrite bool
	known     map[types.UID]known

	// others are objects that are here and not in the definitions.
	others []string

	mu        sync.Mutex
	results   map[migration.ImportResult]int
	conflicts map[types.UID]error
}

// known is an object that is in the storage of this server, or was imported.
type known struct {
	reference *unstructured.Unstructured
	// resourceVersion is the one from which it was imported last; empty if it has to be imported again.
	resourceVersion string
	// imported is true if it came from the definitions.
	imported bool
}

// newCopy reads what was copied before.
func (m *Migration) newCopy(ctx context.Context, overwrite bool) (*copying, error) {
	c := &copying{Migration: m, overwrite: overwrite, known: map[types.UID]known{}, results: map[migration.ImportResult]int{}, conflicts: map[types.UID]error{}}
	var failure error
	err := m.imports.list(ctx, func(item *migration.Import) {
		reference := &unstructured.Unstructured{}
		if err := reference.UnmarshalJSON(item.Spec.Object.Raw); err != nil {
			failure = err
			return
		}
		from := item.Status.SourceResourceVersion
		if overwrite && item.Status.Changed {
			from = "" // whatever it is here
		}
		c.known[types.UID(item.Name)] = known{reference, from, item.Status.SourceResourceVersion != ""}
	})
	return c, cmp.Or(err, failure)
}

// round copies what has changed since the last one. It returns how many objects that were.
func (c *copying) round(ctx context.Context) (done int, err error) {
	found, err := c.read(ctx, copyVersion)
	if err != nil {
		return 0, err
	}
	removed, err := c.removeOthers(ctx, found)
	if err != nil {
		return 0, err
	}
	done = removed
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelImports)
	for uid, object := range found {
		if is, ok := c.known[uid]; ok && is.resourceVersion == object.GetResourceVersion() {
			continue
		}
		done++
		c.known[uid] = known{object.Unstructured, object.GetResourceVersion(), true}
		if err := restore(object.Unstructured); err != nil {
			return 0, fmt.Errorf("%s: %w", object, err)
		}
		group.Go(func() error {
			return c.put(groupCtx, object.String(), object.Unstructured, migration.ImportSpec{Overwrite: c.overwrite})
		})
	}
	return done, group.Wait()
}

// removeOthers removes the objects that are not in the definitions any more, before others take their names. It returns how many
// they were.
func (c *copying) removeOthers(ctx context.Context, found objects) (done int, err error) {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelImports)
	c.others = nil
	for uid, is := range c.known {
		if _, exists := found[uid]; exists {
			continue
		}
		if !c.mayRemove(is) {
			c.others = append(c.others, is.reference.GetKind()+" "+is.reference.GetName())
			continue
		}
		done++
		delete(c.known, uid)
		group.Go(func() error {
			return c.put(groupCtx, is.reference.GetKind()+" "+is.reference.GetName(), is.reference, migration.ImportSpec{Deleted: true, Overwrite: c.overwrite})
		})
	}
	return done, group.Wait()
}

// mayRemove reports whether an object that is not in the definitions is removed: those that came from there are, and others
// if that is told.
func (c *copying) mayRemove(is known) bool {
	return is.imported || c.overwrite && c.config.DiscardOthers
}

// put imports one object. A conflict is noted, and no error.
func (c *copying) put(ctx context.Context, name string, object *unstructured.Unstructured, spec migration.ImportSpec) error {
	answer, _, err := c.imports.create(ctx, object, spec, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if apierrors.IsConflict(err) {
		c.conflicts[object.GetUID()] = err
		return nil
	}
	if err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	c.results[answer.Status.Result]++
	return nil
}

// String says how many objects were copied.
func (c *copying) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []string
	for _, result := range []migration.ImportResult{migration.ImportCreated, migration.ImportUpdated, migration.ImportMerged, migration.ImportDeleted} {
		if count := c.results[result]; count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, strings.ToLower(string(result))))
		}
	}
	if len(c.conflicts) > 0 {
		parts = append(parts, fmt.Sprintf("%d in conflict", len(c.conflicts)))
	}
	if len(parts) == 0 {
		return "nothing was to do"
	}
	return strings.Join(parts, ", ")
}

// conflict returns the conflicts as one error; nil if there are none.
func (c *copying) conflict() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.conflicts) == 0 {
		return nil
	}
	var texts []string
	for _, err := range c.conflicts {
		texts = append(texts, err.Error())
	}
	slices.Sort(texts)
	return &ConflictError{Conflicts: texts, Kept: "here"}
}

// ConflictError is the error of objects that were not written because of what they are on the other side.
type ConflictError struct {
	Conflicts []string
	// Kept is where they stay as they are.
	Kept string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s in conflict, left as it is %s:\n  %s", counted(len(e.Conflicts), "object"), e.Kept, strings.Join(e.Conflicts, "\n  "))
}
