// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
)

// previewing is one preview under way. It goes along a line of its own, whose hooks are asked for the preview.
type previewing struct {
	line
	c       *Controller
	options PreviewOptions
	// exists is true if the host has the parent.
	exists bool
	// listed has an element when related objects may have been listed.
	listed chan struct{}
	// isGiven is true if an answer is given that has children.
	isGiven atomic.Bool
	// isChosen is true if the user of the preview chooses what is observed: gives the parent, or the answer of the
	// customize hook.
	isChosen atomic.Bool

	mu      sync.Mutex
	preview Preview
}

func newPreviewing(c *Controller, options PreviewOptions, exists bool) *previewing {
	p := &previewing{line: c.line, c: c, options: options, exists: exists, listed: make(chan struct{}, 1)}
	p.observer.Claims = c.observer.Claims.Fresh()
	return p
}

// close releases what the preview has observed.
func (p *previewing) close() {
	if p.related != nil && p.related != p.c.related {
		p.related.Close()
	}
}

// askForPreview has the hooks asked for this preview by ctx. What they answer is shown only if whoever
// asks may get the children that it has.
func (p *previewing) askForPreview(ctx context.Context) {
	p.called = func(_ string, snapshot *pipeline.Snapshot, response *pipeline.Response, err error) {
		if response != nil && err == nil {
			_ = p.permit(ctx, answeredBy(snapshot, response)...) // the preview has the refusal
		}
	}
	asked := &hook.Preview{
		Answer:  func(call hook.Call) ([]byte, error) { return p.answer(ctx, call) },
		Request: p.request,
		Ended:   p.note,
	}
	p.hooks.sync, p.hooks.finalize, p.hooks.customize = p.hooks.sync.Preview(asked), p.hooks.finalize.Preview(asked), p.hooks.customize.Preview(asked)
	if p.related == nil {
		return
	}
	config := p.c.relatedConfig(p.customize, func(...object.Key) {
		select {
		case p.listed <- struct{}{}:
		default:
		}
	})
	config.Permit = p.permitRelated
	p.related = related.New(config)
}

// answer returns the answer that is given to a call, or why the hook is not called.
func (p *previewing) answer(ctx context.Context, call hook.Call) ([]byte, error) {
	toShow := relatedOf(call.Snapshot)
	if call.Snapshot.Present != nil {
		toShow = append(toShow, shown{controllerRevisions, p.spec.Rollout.NamespaceOf(call.Snapshot.Present), "its revisions"})
	}
	if err := p.permit(ctx, toShow...); err != nil {
		return nil, err
	}
	if p.options.Until == v1alpha1.SyncReviewUntilRequest && call.Hook != hook.Customize {
		return nil, ErrNotCalled
	}
	given, err := p.options.Answer(call)
	if given != nil || err != nil {
		if call.Hook != hook.Customize {
			p.isGiven.Store(true)
		} else {
			p.isChosen.Store(true)
		}
		return given, err
	}
	if !p.options.CallHooks {
		return nil, ErrAnswerMissing
	}
	return nil, nil
}

// request returns the body that is to be sent in the place of that of a call.
func (p *previewing) request(call hook.Call) []byte {
	if p.options.Request == nil || call.Hook == hook.Customize || call.Snapshot.Present != nil {
		return nil
	}
	return unblanked(p.options.Request, call.Request)
}

// note notes a call. The same one again replaces the first.
func (p *previewing) note(call hook.Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.preview.Calls = slices.DeleteFunc(p.preview.Calls, func(other hook.Call) bool {
		return other.Hook == call.Hook && other.Snapshot.Revision == call.Snapshot.Revision
	})
	p.preview.Calls = append(p.preview.Calls, call)
}

// callHooksForPreview is callHooks that waits until the related objects are listed.
func (p *previewing) callHooksForPreview(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, webhook *hook.Webhook) (*hookResponses, error) {
	for {
		responses, err := p.callHooks(ctx, state, snapshot, webhook)
		waits, isWaiting := errors.AsType[*related.NotListedError](err)
		if !isWaiting {
			return responses, err
		}
		timer := time.NewTimer(waits.After)
		select {
		case <-p.listed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// refusal returns why the preview may not be shown; nil if it may.
func (p *previewing) refusal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.preview.Refusal
}

// undecided returns the errors of calls other than those whose answers are missing, and whether there are such.
func (p *previewing) undecided() (failure error, missing bool) {
	var failures []error
	for _, call := range p.preview.Calls {
		switch {
		case errors.Is(call.Err, ErrAnswerMissing), errors.Is(call.Err, ErrNotCalled):
			missing = true
		case call.Err != nil:
			failures = append(failures, call.Err)
		}
	}
	return joinErrors(failures), missing
}

// ended returns the preview with its calls in order: those about the present parent first.
func (p *previewing) ended() *Preview {
	p.mu.Lock()
	defer p.mu.Unlock()
	order := []string{hook.Customize, hook.Sync, hook.Finalize}
	slices.SortFunc(p.preview.Calls, func(a, b hook.Call) int {
		return cmp.Or(cmp.Compare(a.Snapshot.Revision, b.Snapshot.Revision), cmp.Compare(slices.Index(order, a.Hook), slices.Index(order, b.Hook)))
	})
	ended := p.preview
	return &ended
}
