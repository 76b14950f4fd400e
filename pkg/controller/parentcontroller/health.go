// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions/store"
)

// Health returns how the controller is doing. Its cost does not depend on the number of parents, except when the
// parent whose failure or warning was shown no longer has one.
func (c *Controller) Health() report.Health {
	called, failure := c.hookCalls.Status()
	health := report.Health{
		Uncounted: !c.IsCounted(), WholeErrors: c.DeveloperMode, AllPaused: c.spec.Paused,
		HookCalled: called, HookError: report.Summary(failure), StaleCredentials: report.Summary(c.staleCredentials.Err()),
		Mismatch: ptr.Deref(c.mismatch.Load(), ""),
	}
	health.SetWriteLoops(c.writeLoops())
	c.reporter.AddTo(&health, c.exists)
	return health
}

// exists reports whether there is a parent with that key.
func (c *Controller) exists(parent object.Key) bool {
	of := c.planner.Observer.Get(parent)
	return of != nil && c.planner.Observer.Handles(of)
}

// writeLoops returns the write loops that are slowed down, of the parents that exist.
func (c *Controller) writeLoops() []pipeline.WriteLoop {
	loops := slices.DeleteFunc(c.guard.Loops(time.Now()), func(loop pipeline.WriteLoop) bool {
		return c.planner.Observer.Get(loop.Parent) == nil
	})
	c.reporter.AddRivals(loops)
	return loops
}

// Recall makes the status continue with the last error that it shows, which is of an earlier process or spec. It is
// called before the controller runs.
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
	c.reporter.Recall(&report.ParentError{Parent: parent, Message: last.Message, Time: last.Time.Time})
}

// RuntimeProblem returns the problem that keeps the running controller as a whole from working: CacheProblem, a right
// that its service account lacks to read the objects that the customize hook selects, or a hook whose circuit is open;
// nil if there is no problem. It is called often, so it allocates nothing if there is none, or if a right is still
// missing.
func (c *Controller) RuntimeProblem() *report.Problem {
	if problem := c.CacheProblem(); problem != nil {
		return problem
	}
	if c.planner.Related != nil {
		if refusal := c.planner.Related.Refusal(); refusal != nil {
			return c.refusalProblem(refusal)
		}
	}
	if problem := c.watcher.problem(); problem != nil {
		return problem
	}
	for _, webhook := range [...]*hook.Webhook{c.planner.Hooks.Sync, c.planner.Hooks.Finalize, c.planner.Hooks.Customize} {
		if webhook == nil {
			continue
		}
		if err := webhook.CircuitOpen(); err != nil {
			return &report.Problem{Reason: v1alpha1.ReasonHookDown, Err: err}
		}
	}
	return nil
}

// refusalProblem returns the problem of a refusal. It returns the same problem for the same refusal; callers must not
// change it.
func (c *Controller) refusalProblem(refusal *permissions.Error) *report.Problem {
	if before := c.lastRefusal.Load(); before != nil && errors.Is(before.Err, refusal) {
		return before
	}
	problem := report.RefusalProblem(refusal)
	problem.Since = time.Now()
	c.lastRefusal.Store(problem)
	return problem
}

// MissesTypeOf reports whether the host lacks a related type of the API group, or one of spec.resyncOn.
func (c *Controller) MissesTypeOf(group string) bool {
	isMissing := func(one WatchedObject) bool { return one.why != nil && one.Missing.Group == group }
	return slices.ContainsFunc(c.spec.ResyncOn, isMissing) ||
		c.planner.Related != nil && c.planner.Related.MissesTypeOf(group)
}

// Recheck enqueues the parents whose related types were missing and exist now.
func (c *Controller) Recheck(ctx context.Context) {
	if c.planner.Related != nil {
		c.planner.Related.Recheck(ctx)
	}
}

// maxLetGoEvents bounds the events about one change. More at once would displace the events of other controllers.
const maxLetGoEvents = 100

// ReportLetGo writes events about the parents of the former controller that this controller does not handle. It leaves
// out parents with the finalizer, which get events when it is removed.
func (c *Controller) ReportLetGo(ctx context.Context, former *Controller, name string) {
	count := 0
	for _, parent := range former.planner.Observer.Parents() {
		if c.planner.Observer.Handles(parent) || slices.Contains(parent.Finalizers, former.planner.Observer.Finalizer) {
			continue
		}
		if count++; count <= maxLetGoEvents {
			c.Events.NoLongerSelected(parent, name)
		}
	}
	if count > maxLetGoEvents {
		klog.FromContext(ctx).Info("Only some parents that are no longer selected have an event", "controller", name,
			"parents", count, "events", maxLetGoEvents)
	}
}

// caches are the caches that a controller reads.
type caches struct {
	observer *observe.Observer
	// revisions are the ControllerRevisions; nil if the controller has none.
	revisions *store.Store
	reporter  *status.Reporter
}

// WaitForCaches waits until the controller sees all objects of its types. The error is the error of ctx.
func (c *caches) WaitForCaches(ctx context.Context) error {
	for _, view := range c.views() {
		if err := view.WaitForSync(ctx); err != nil {
			return err
		}
		c.reporter.TypeWarnings(view)
	}
	if c.revisions != nil && !c.revisions.WaitForSync(ctx) {
		return ctx.Err()
	}
	return nil
}

// IsFilled reports whether the controller sees all objects of its types.
func (c *caches) IsFilled() bool {
	waits := func(view *cache.View) bool { return !view.WaitsSince().IsZero() }
	return !slices.ContainsFunc(c.observer.Targets, func(target *observe.Target) bool { return waits(target.View) }) &&
		!slices.ContainsFunc(c.observer.Children, waits) &&
		(c.revisions == nil || c.revisions.HasSynced())
}

// CacheProblem returns why the controller does not see all objects of its types, or not their
// changes; nil if it does. Like RuntimeProblem, it is called often.
func (c *caches) CacheProblem() *report.Problem {
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
	if c.revisions != nil && !c.revisions.HasSynced() {
		return &report.Problem{Reason: v1alpha1.ReasonTypesNotListed,
			Err: errors.New("the ControllerRevisions have not been listed yet")}
	}
	return nil
}

// views returns the views of the types of parents, then the views of the child types.
func (c *caches) views() []*cache.View {
	var views []*cache.View
	for _, target := range c.observer.Targets {
		views = append(views, target.View)
	}
	return append(views, c.observer.Children...)
}

// watchProblem returns the problem of a type that the host does not let the controller list or watch, or
// whose watches it breaks; nil if there is none.
func watchProblem(view *cache.View) *report.Problem {
	err := view.WatchError()
	if err == nil {
		return nil
	}
	verb := "watch"
	if !view.WaitsSince().IsZero() {
		verb = "list"
	}
	return &report.Problem{Reason: v1alpha1.ReasonWatchFailed,
		Err: fmt.Errorf("the server cannot %s %s: %w", verb, view.Type, err)}
}

// listProblem returns the problem of a type that the host has not listed completely; nil if it has.
func listProblem(view *cache.View) *report.Problem {
	since := view.WaitsSince()
	if since.IsZero() {
		return nil
	}
	return &report.Problem{Reason: v1alpha1.ReasonTypesNotListed, Err: fmt.Errorf(
		"the cluster has not completed its response to the list of %s, requested at %s", view.Type,
		since.UTC().Format(time.RFC3339))}
}
