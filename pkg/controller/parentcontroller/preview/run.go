// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// run is one preview. Its planner has hooks that are called for the preview.
type run struct {
	of      *Previewer
	planner planner.Planner
	options Options
	// exists is true if the host has the parent.
	exists bool
	// listed has an element when the cache may have listed related objects.
	listed chan struct{}
	// isGiven is true if an answer is given that has children.
	isGiven atomic.Bool
	// isChosen is true if the user of the preview chooses what is observed: gives the parent, or the answer of the
	// customize hook.
	isChosen atomic.Bool
	// bytes is how many bytes of the hook budget the run enters with at least, and later how many the next one should.
	bytes int64

	mu      sync.Mutex
	preview Preview
}

func (p *Previewer) newRun(options Options, exists bool) *run {
	r := &run{of: p, planner: *p.Planner, options: options, exists: exists, listed: make(chan struct{}, 1)}
	r.planner.Observer.Claims = p.Planner.Observer.Claims.Fresh()
	return r
}

func (r *run) do(ctx context.Context, parent *object.Object) *Preview {
	defer r.close()
	r.preview.Parent = parent
	func() {
		defer planner.Recover(ctx, &r.preview.Err)
		r.preview.Err = r.follow(ctx, parent)
	}()
	return r.ended()
}

// close releases the views of the preview.
func (r *run) close() {
	if r.planner.Related != nil && r.planner.Related != r.of.Planner.Related {
		r.planner.Related.Close()
	}
}

// follow takes a parent through the stages of a sync. The error is the one that the sync would fail with.
func (r *run) follow(ctx context.Context, parent *object.Object) error {
	if err := r.of.CheckReads(ctx); err != nil {
		return err
	}
	if !r.planner.Observer.Handles(parent) {
		return fmt.Errorf("the controller does not handle %s: its selectors or namespaces exclude it", parent)
	}
	if r.of.Lacks != nil && parent.DeletionTimestamp == nil {
		return r.of.Lacks
	}
	r.routeHooks(ctx)
	state, bytes, err := r.of.Recall(ctx, parent)
	if err != nil {
		return err
	}
	// A sync of the parent, for which Recall waits, may itself have waited for room.
	ctx, room, err := r.of.Budget.Enter(ctx, r.of.Owner, max(bytes, r.bytes))
	if err != nil {
		return fmt.Errorf("the preview waits for memory for requests and answers of hooks; --hook-max-bytes-in-flight "+
			"limits this memory for all syncs together, and for the syncs of %s: %w (try again later, or raise the "+
			"limit)", r.of.Owner, err)
	}
	defer func() { r.bytes = room.Leave() }()
	snapshot := r.planner.Observer.ParentAs(parent)
	r.preview.Type, r.preview.Paused = snapshot.ParentType, r.of.IsPaused(parent)
	if err := r.permit(ctx, shown{snapshot.ParentType, parent.Namespace, "the parent"}); err != nil {
		return err
	}
	if snapshot, err = r.withFinalizer(ctx, snapshot); snapshot == nil || err != nil {
		return err
	}
	snapshot.Trigger = pipeline.TriggerRequest
	if err := r.permitSelection(ctx, r.of.toSelectChildren(parent)); err != nil {
		return err
	}
	webhook, err := r.planner.ObserveChildren(snapshot)
	if err != nil {
		return err
	}
	if webhook == nil {
		r.preview.Planned = true
		return nil
	}
	r.preview.Hook = webhook.Name()
	if err := r.permit(ctx, childrenOf(snapshot)...); err != nil {
		return err
	}
	responses, err := r.callHooksForPreview(ctx, state, snapshot, webhook)
	if refusal := r.refusal(); refusal != nil {
		return refusal
	}
	if failure, missing := r.undecided(); missing {
		return failure
	}
	if err != nil || r.options.Until == v1alpha1.SyncReviewUntilResponse {
		return err
	}
	return r.planAndTry(ctx, state, snapshot, responses)
}

// routeHooks routes the calls of hooks through the preview. An answer is shown only if the user of the preview may get
// the children in it.
func (r *run) routeHooks(ctx context.Context) {
	r.planner.Called = func(_ string, snapshot *pipeline.Snapshot, response *pipeline.Response, err error) {
		if response != nil && err == nil {
			_ = r.permit(ctx, answeredBy(snapshot, response)...) // the preview has the refusal
		}
	}
	calls := &hook.Preview{
		Answer:  func(call hook.Call) ([]byte, error) { return r.answer(ctx, call) },
		Request: r.request,
		Ended:   r.note,
	}
	r.planner.Hooks.Sync, r.planner.Hooks.Finalize, r.planner.Hooks.Customize = r.planner.Hooks.Sync.Preview(calls),
		r.planner.Hooks.Finalize.Preview(calls), r.planner.Hooks.Customize.Preview(calls)
	if r.planner.Related == nil {
		return
	}
	config := r.of.RelatedConfig(r.planner.Customize, func(...object.Key) {
		select {
		case r.listed <- struct{}{}:
		default:
		}
	})
	config.Permit = r.permitRelated
	r.planner.Related = related.New(config)
}

// answer returns the given answer to a call, nil if the preview calls the hook, or an error if it does not.
func (r *run) answer(ctx context.Context, call hook.Call) ([]byte, error) {
	toShow := relatedOf(call.Snapshot)
	if call.Snapshot.Present != nil {
		toShow = append(toShow, shown{controllerRevisions, r.planner.Rollout.NamespaceOf(call.Snapshot.Present),
			"its revisions"})
	}
	if err := r.permit(ctx, toShow...); err != nil {
		return nil, err
	}
	if r.options.Until == v1alpha1.SyncReviewUntilRequest && call.Hook != hook.Customize {
		return nil, ErrNotCalled
	}
	given, err := r.options.Answer(call)
	if given != nil || err != nil {
		if call.Hook != hook.Customize {
			r.isGiven.Store(true)
		} else {
			r.isChosen.Store(true)
		}
		return given, err
	}
	if !r.options.CallHooks && !call.Inline {
		return nil, ErrAnswerMissing
	}
	return nil, nil
}

// request returns the body to send instead of the body of a call: the kept request of an earlier call, with its blanks
// replaced by the values in the current request, which the hook would get anyway. Without them, a hook that returns a
// value from its request would seem to change a Secret to blanks.
func (r *run) request(call hook.Call) []byte {
	if r.options.Request == nil || call.Hook == hook.Customize || call.Snapshot.Present != nil {
		return nil
	}
	return redact.UnblankJSON(r.options.Request, call.Request)
}

// note records a call. A repeated call replaces the first one.
func (r *run) note(call hook.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.preview.Calls = slices.DeleteFunc(r.preview.Calls, func(other hook.Call) bool {
		return other.Hook == call.Hook && other.Snapshot.Revision == call.Snapshot.Revision
	})
	r.preview.Calls = append(r.preview.Calls, call)
}

// callHooksForPreview is CallHooks, but waits until the related objects are listed.
func (r *run) callHooksForPreview(
	ctx context.Context, state *planner.State, snapshot *pipeline.Snapshot, webhook *hook.Webhook,
) (*planner.Responses, error) {
	for {
		responses, err := r.planner.CallHooks(ctx, state, snapshot, webhook)
		waits, isWaiting := errors.AsType[*related.NotListedError](err)
		if !isWaiting {
			return responses, err
		}
		timer := time.NewTimer(waits.After)
		select {
		case <-r.listed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// refusal returns why the preview may not be shown; nil if it may.
func (r *run) refusal() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.preview.Refusal
}

// undecided returns the errors of calls, and whether the answer to a call is missing.
func (r *run) undecided() (failure error, missing bool) {
	var failures []error
	for _, call := range r.preview.Calls {
		switch {
		case errors.Is(call.Err, ErrAnswerMissing), errors.Is(call.Err, ErrNotCalled):
			missing = true
		case call.Err != nil:
			failures = append(failures, call.Err)
		}
	}
	return planner.JoinErrors(failures), missing
}

// ended returns the preview with its calls in order: those about the current parent first.
func (r *run) ended() *Preview {
	r.mu.Lock()
	defer r.mu.Unlock()
	order := []string{hook.Customize, hook.Sync, hook.Finalize}
	slices.SortFunc(r.preview.Calls, func(a, b hook.Call) int {
		return cmp.Or(cmp.Compare(a.Snapshot.Revision, b.Snapshot.Revision),
			cmp.Compare(slices.Index(order, a.Hook), slices.Index(order, b.Hook)))
	})
	ended := r.preview
	return &ended
}
