// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// Health returns how the controller is doing. Its cost does not depend on the number of parents,
// except when the parent whose failure or warning was shown has none any more.
func (c *Controller) Health() report.Health {
	health := report.Health{Uncounted: !c.IsCounted(), WholeErrors: c.DeveloperMode}
	health.WriteLoops, health.Total = c.writeLoops(), int(c.health.total.Load())
	health.HookCalled, health.HookErr = c.hookCalls.status()
	health.StaleCredentials = c.staleCredentials.err()

	c.health.mu.Lock()
	defer c.health.mu.Unlock()
	if last := c.health.lastError; last != nil && !health.Uncounted && !c.exists(last.Parent) {
		c.health.markRecovered(last.Parent) // it is gone
	}
	health.Synced, health.Failing = c.health.succeeded, c.health.failing
	health.LastError, health.Failure = c.health.lastError, c.health.failure()
	health.Warned, health.FieldWarning, health.ChildWarning = c.health.warned, c.health.warning(ofFields), c.health.warning(ofChildren)
	health.Outdated = c.health.outdated
	if health.AllPaused = c.spec.Paused; c.health.paused > 0 {
		health.Paused, health.PausedParent = c.health.paused, c.health.pausedParent()
	}
	return health
}

// exists reports whether there is a parent with that key.
func (c *Controller) exists(parent object.Key) bool {
	of := c.observer.Get(parent)
	return of != nil && c.observer.Handles(of)
}

// writeLoops returns the write loops that are slowed down, of the parents that exist.
func (c *Controller) writeLoops() []pipeline.WriteLoop {
	loops := slices.DeleteFunc(c.guard.Loops(time.Now()), func(loop pipeline.WriteLoop) bool {
		return c.observer.Get(loop.Parent) == nil
	})
	c.addRivals(loops)
	return loops
}

// addRivals adds to the loops the other controllers that take part in them, as far as they are
// known.
func (c *Controller) addRivals(loops []pipeline.WriteLoop) {
	for i := range loops {
		loops[i].Rivals = c.WriteLoops.Rivals(c.guard, loops[i])
	}
}

// syncHealth is how the last syncs of the parents ended. Its methods may be called concurrently.
type syncHealth struct {
	// total is the number of parents, kept up to date by their events. Counting them each time would
	// cost more the more parents there are.
	total atomic.Int64

	mu sync.Mutex
	// parents has an entry for each parent that was synced.
	parents map[object.Key]parentHealth
	// succeeded, failing, warned, warnedOf, outdated and paused are the sums over the entries.
	succeeded, failing, warned, outdated, paused int
	warnedOf                                     [warningSorts]int
	// shownFailure and shownWarnings are the parents whose failure and warnings the status shows, shownPaused is
	// a paused one that it names.
	shownFailure, shownPaused object.Key
	shownWarnings             [warningSorts]object.Key
	lastError                 *report.ParentError
}

// warningSort tells the warnings that have a condition each.
type warningSort int

const (
	ofFields warningSort = iota
	ofChildren
	warningSorts
)

func sortOf(warning *pipeline.Warning) warningSort {
	if warning.Reason.IsAboutFields() {
		return ofFields
	}
	return ofChildren
}

// parentHealth is how the last sync of a parent ended.
type parentHealth struct {
	// succeeded is true if the last sync succeeded. failure is the error of the last sync; nil if it
	// succeeded. Before the first sync has ended, succeeded is false and failure is nil.
	succeeded bool
	// recovers is true if the end of the failure is worth an event, since there was one about the
	// failure. The end of a finalization is the end of the parent, so it needs none.
	recovers bool
	failure  *report.ParentError
	// warnings have the messages of the warnings of the last sync that had a plan; each is nil if it had
	// none of its sort.
	warnings [warningSorts]*pipeline.Warning
	// warnedByHost is true if the host has answered a write with a warning. The warning may be missing in
	// warnings, because a later plan did not have it.
	warnedByHost bool
	// outdated is the number of children that this sync left as they are.
	outdated int
	// paused is true if the parent is paused. Nothing else is set then.
	paused bool
}

// isWarned reports whether there are warnings of any sort.
func (h *parentHealth) isWarned() bool { return h.warnings != [warningSorts]*pipeline.Warning{} }

func newSyncHealth() *syncHealth { return &syncHealth{parents: map[object.Key]parentHealth{}} }

// update notes how the last sync of a parent ended. It returns the failure that is over, if there
// was an event about it, else nil. An open circuit makes the parent fail, but lastError stays: the
// call that was not answered says more.
func (h *syncHealth) update(parent object.Key, err error) (over *report.ParentError) {
	_, open := errors.AsType[*hook.CircuitOpenError](err)
	_, finalizing := errors.AsType[*unfinalizedError](err)
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.parents[parent]
	after := before
	after.paused = false
	switch {
	case err == nil:
		after.succeeded, after.failure, after.recovers = true, nil, false
		h.markRecovered(parent)
		if before.recovers {
			over = before.failure
		}
	case open && before.failure != nil:
	default:
		after.succeeded, after.recovers = false, !open && !finalizing
		after.failure = &report.ParentError{Parent: parent, Message: report.Summary(err), Time: time.Now()}
		if !open {
			h.lastError = after.failure
		}
	}
	h.set(parent, after)
	return over
}

// updateHealth notes how the last sync of a parent ended, and writes an event if the parent has
// recovered.
func (c *Controller) updateHealth(key object.Key, err error) {
	over := c.health.update(key, err)
	if over == nil {
		return
	}
	if parent := c.observer.Get(key); parent != nil {
		c.Events.SyncRecovered(parent, over)
	}
}

// setFindings notes what the last plan about a parent has found.
func (h *syncHealth) setFindings(parent object.Key, warnings []pipeline.Warning, outdated int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	after := h.parents[parent]
	after.outdated, after.warnings = outdated, [warningSorts]*pipeline.Warning{}
	warnings = slices.SortedStableFunc(slices.Values(warnings), func(a, b pipeline.Warning) int { return a.Reason.CompareWeight(b.Reason) })
	var messages [warningSorts][]string
	for i := range warnings {
		warning := &warnings[i]
		if warning.Chosen {
			continue
		}
		of := sortOf(warning)
		if after.warnings[of] == nil {
			after.warnings[of] = &pipeline.Warning{Reason: warning.Reason}
		}
		messages[of] = append(messages[of], warning.Message)
	}
	for of, joined := range after.warnings {
		if joined != nil {
			joined.Message = strings.Join(messages[of], "; ")
		}
	}
	h.set(parent, after)
}

// isFailing reports whether the last sync of a parent failed.
func (h *syncHealth) isFailing(parent object.Key) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.parents[parent].failure != nil
}

// of returns how the last sync of a parent ended.
func (h *syncHealth) of(parent object.Key) parentHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.parents[parent]
}

// setWarnedByHost notes that the host has answered a write with a warning.
func (h *syncHealth) setWarnedByHost(parent object.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	after := h.parents[parent]
	after.warnedByHost = true
	h.set(parent, after)
}

// warnedParents returns the parents whose last plan had warnings, or of which the host has warned.
func (h *syncHealth) warnedParents() (parents []object.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for parent, health := range h.parents {
		if health.isWarned() || health.warnedByHost {
			parents = append(parents, parent)
		}
	}
	return parents
}

// forget drops a parent that is gone.
func (h *syncHealth) forget(parent object.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set(parent, parentHealth{})
	delete(h.parents, parent)
	h.markRecovered(parent)
}

// set replaces the entry of a parent.
func (h *syncHealth) set(parent object.Key, after parentHealth) {
	before := h.parents[parent]
	h.succeeded += count(after.succeeded) - count(before.succeeded)
	h.failing += count(after.failure != nil) - count(before.failure != nil)
	h.warned += count(after.isWarned()) - count(before.isWarned())
	for of := range h.warnedOf {
		h.warnedOf[of] += count(after.warnings[of] != nil) - count(before.warnings[of] != nil)
		h.chooseShown(warningSort(of), parent, before.warnings[of], after.warnings[of])
	}
	h.outdated += after.outdated - before.outdated
	h.paused += count(after.paused) - count(before.paused)
	h.parents[parent] = after
}

// chooseShown has the status show the warning of a parent instead of another one if it is graver. If the
// shown warning has become less grave, the status shows the gravest one.
func (h *syncHealth) chooseShown(of warningSort, parent object.Key, before, after *pipeline.Warning) {
	shown := &h.shownWarnings[of]
	switch {
	case *shown == parent && isGraver(before, after):
		*shown = object.Key{}
	case isGraver(after, h.parents[*shown].warnings[of]):
		*shown = parent
	}
}

// isGraver reports whether a warning is graver than another one; nil is less grave than any.
func isGraver(warning, other *pipeline.Warning) bool {
	return warning != nil && (other == nil || warning.Reason.CompareWeight(other.Reason) < 0)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// failure returns why a failing parent failed; nil if none fails. It is the same parent as before as
// long as that fails.
func (h *syncHealth) failure() *report.ParentError {
	if h.failing == 0 {
		return nil
	}
	if h.parents[h.shownFailure].failure == nil {
		for parent, health := range h.parents {
			if health.failure != nil {
				h.shownFailure = parent
				break
			}
		}
	}
	return h.parents[h.shownFailure].failure
}

// warning returns the gravest warning of a sort; nil if there is none. It is the same parent as before as
// long as no other one has a graver one.
func (h *syncHealth) warning(of warningSort) *report.ParentWarning {
	if h.warnedOf[of] == 0 {
		return nil
	}
	shown := &h.shownWarnings[of]
	if h.parents[*shown].warnings[of] == nil {
		for parent, health := range h.parents {
			if isGraver(health.warnings[of], h.parents[*shown].warnings[of]) {
				*shown = parent
			}
		}
	}
	return &report.ParentWarning{Parent: *shown, Warning: *h.parents[*shown].warnings[of], More: h.warnedOf[of] - 1}
}

// Recall has the status go on with the last error that it shows, which is of an earlier process or spec. The controller
// does not run yet.
func (c *Controller) Recall(last *v1alpha1.LastSyncError) {
	if last == nil || last.Recovered != nil {
		return
	}
	namespace, name, isNamespaced := strings.Cut(last.Parent, "/")
	if !isNamespaced {
		namespace, name = "", last.Parent
	}
	parent := object.Key{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	parent.Kind = last.Kind
	for _, target := range c.spec.Targets {
		if target.Type.Kind == last.Kind {
			parent.GroupKind = target.Type.GroupKind()
		}
	}
	c.health.mu.Lock()
	defer c.health.mu.Unlock()
	c.health.lastError = &report.ParentError{Parent: parent, Message: last.Message, Time: last.Time.Time}
}

// markRecovered notes when the parent stopped failing, if the last error is about it.
func (h *syncHealth) markRecovered(parent object.Key) {
	if last := h.lastError; last != nil && last.Parent == parent && last.Recovered.IsZero() {
		h.lastError = &report.ParentError{Parent: parent, Message: last.Message, Time: last.Time, Recovered: time.Now()}
	}
}

// RuntimeProblem returns what keeps the running controller as a whole from its work: CacheProblem, a
// right that its service account lacks to read what the customize hook asks for, or a hook whose
// circuit is open; nil if there is nothing. It is called often, so it allocates nothing if there is
// nothing, or if a right is still missing.
func (c *Controller) RuntimeProblem() *report.Problem {
	if problem := c.CacheProblem(); problem != nil {
		return problem
	}
	if c.related != nil {
		if refusal := c.related.Refusal(); refusal != nil {
			return c.refusalProblem(refusal)
		}
	}
	if problem := c.watched.problem(); problem != nil {
		return problem
	}
	for _, webhook := range [...]*hook.Webhook{c.hooks.sync, c.hooks.finalize, c.hooks.customize} {
		if webhook == nil {
			continue
		}
		if err := webhook.CircuitOpen(); err != nil {
			return &report.Problem{Reason: report.ReasonHookDown, Err: err}
		}
	}
	return nil
}

// refusalProblem returns the problem of a refusal: the same one as before for the same refusal. It must
// not be changed.
func (c *Controller) refusalProblem(refusal *permissions.Error) *report.Problem {
	if before := c.lastRefusal.Load(); before != nil && errors.Is(before.Err, refusal) {
		return before
	}
	problem := report.RefusalProblem(refusal)
	c.lastRefusal.Store(problem)
	return problem
}

// CacheProblem returns why the controller does not see all objects of its types, or not their
// changes; nil if it does. Like RuntimeProblem, it is called often.
func (c *Controller) CacheProblem() *report.Problem {
	for _, of := range [...]func(*cache.View) *report.Problem{watchProblem, listProblem} {
		for _, target := range c.observer.Targets {
			if problem := of(target.View); problem != nil {
				return problem
			}
		}
		for _, view := range c.observer.Children {
			if problem := of(view); problem != nil {
				return problem
			}
		}
	}
	if c.spec.Rollout != nil && !c.Revisions.HasSynced() {
		return &report.Problem{Reason: report.ReasonTypesNotListed, Err: errors.New("the ControllerRevisions have not been listed yet")}
	}
	return nil
}

// IsFilled reports whether the controller sees all objects of its types.
func (c *Controller) IsFilled() bool {
	waits := func(view *cache.View) bool { return !view.WaitsSince().IsZero() }
	return !slices.ContainsFunc(c.observer.Targets, func(target *observe.Target) bool { return waits(target.View) }) &&
		!slices.ContainsFunc(c.observer.Children, waits) &&
		(c.spec.Rollout == nil || c.Revisions.HasSynced())
}

// IsCounted reports whether the number of parents is known: the controller sees all objects of its
// types, and its handlers have counted the parents among them.
func (c *Controller) IsCounted() bool {
	handlers := c.parentHandlers.Load()
	return handlers != nil && !slices.ContainsFunc(*handlers, func(handler *cache.Registration) bool { return !handler.HasDelivered() })
}

// watchProblem returns the problem that the host refuses to let a type be listed or watched, or
// breaks its watches; nil if it does not.
func watchProblem(view *cache.View) *report.Problem {
	err := view.WatchError()
	if err == nil {
		return nil
	}
	verb := "watched"
	if !view.WaitsSince().IsZero() {
		verb = "listed"
	}
	return &report.Problem{Reason: report.ReasonWatchFailed, Err: fmt.Errorf("the cluster does not let %s be %s: %w", view.Type, verb, err)}
}

// listProblem returns the problem that the host has not ended its list of a type; nil if it has.
func listProblem(view *cache.View) *report.Problem {
	since := view.WaitsSince()
	if since.IsZero() {
		return nil
	}
	return &report.Problem{Reason: report.ReasonTypesNotListed, Err: fmt.Errorf(
		"the cluster has not ended its answer to the list of %s, which was asked for at %s", view.Type, since.UTC().Format(time.RFC3339))}
}
