// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/writeloop"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Previewer previews syncs of the parents of a controller. The controller need not run, but its caches must be filled.
type Previewer struct {
	// Planner is the planner of the controller, which previews copy.
	Planner *planner.Planner
	// Parents are the types of parents, and Children are the child types.
	Parents, Children []object.Type
	// Namespaces are those to which the controller is limited.
	Namespaces object.Namespaces
	Guard      *writeloop.Guard
	Actor      *act.Actor
	// Budget and Owner bound the bytes of requests and answers, as in syncs.
	Budget *hook.Budget
	Owner  string

	// CheckReads returns an error unless the service account of the controller may read what it needs.
	CheckReads func(context.Context) error
	// Lacks is the error of syncs of parents that are not being deleted; nil if there is none.
	Lacks error
	// Recall returns a copy of what syncs know of a parent, and how many bytes of the budget the next one enters with.
	Recall func(context.Context, *object.Object) (state *planner.State, bytes int64, err error)
	// IsPaused reports whether syncs of a parent do nothing.
	IsPaused func(parent *object.Object) bool
	// MayWriteRevisions returns an error unless the controller may make a write of a ControllerRevision.
	MayWriteRevisions func(context.Context, *pipeline.Snapshot, revisions.Write) error
	// RelatedConfig returns the configuration of an observer of related objects.
	RelatedConfig func(ask related.AskFunc, changed func(parents ...object.Key)) related.Config
}

// Options are the options of a preview.
type Options struct {
	// Until is the stage up to which the sync is followed.
	Until v1alpha1.SyncReviewStage
	// Answer returns the answer that replaces a call of a hook; nil if there is none. The error says why it cannot
	// be used.
	Answer func(hook.Call) ([]byte, error)
	// CallHooks is true if hooks are called for the other answers.
	CallHooks bool
	// Request is sent to the sync or finalize hook in place of the request; nil sends the request.
	Request []byte
	// IsAuthor is true if the user of the preview is known to have the rights of the author of the controller's spec.
	// Then the writes of given answers may be sent in a dry run without further rights.
	IsAuthor bool
	// Permit returns an error unless the user of the preview has the rights, which are those to read
	// what it shows.
	Permit func(context.Context, []rights.Required) error
}

// ErrAnswerMissing is the error of a call whose answer is not given, and for which no hook is called. ErrNotCalled
// is the error of a call that comes after the end of the preview.
var (
	ErrAnswerMissing = errors.New("the review has no answer to this call, and calls no hook")
	ErrNotCalled     = errors.New("the preview ends before this call")
)

// Preview describes the effects that a sync of a parent would have.
type Preview struct {
	// Parent is the parent, and Type is its type.
	Parent *object.Object
	Type   object.Type
	// Hook is the name of the hook that decides; empty if none is called.
	Hook string
	// Calls are the calls of hooks: each hook once for each version of the parent.
	Calls []hook.Call
	// Planned is true if the preview has reached the plan. Otherwise the fields below are empty.
	Planned bool
	// Revisions are the writes of ControllerRevisions, which come first.
	Revisions []Revision
	// Steps are the writes in their order.
	Steps []Step
	// Refused says why children are left out.
	Refused []error
	// Warnings are about what is probably a mistake.
	Warnings []pipeline.Warning
	// Rollout is nil if no children roll out.
	Rollout *Rollout
	// Answer is what the hooks want in all; nil before they have answered.
	Answer *pipeline.Response
	// Paused is true if the parent is paused. Its syncs then do nothing.
	Paused bool
	// Err is the error of the sync. Refusal is the error if the user may not see the preview.
	Err, Refusal error
}

// Step is a write of a sync.
type Step struct {
	pipeline.Step
	// Postponed is true if the guard against write loops postpones it.
	Postponed bool
	// Outcome is the outcome of the dry run; nil without one, or if the step was not sent.
	Outcome *pipeline.Outcome
	// NotSent says why the step was not sent in a dry run; empty if the review has none, or if the step was sent.
	NotSent string
}

// Revision is a write of a ControllerRevision.
type Revision struct {
	revisions.Write
	// Before is the revision as it is; nil if it is created.
	Before *v1alpha1.ControllerRevision
	// Tried is true if it was sent in a dry run, and Err is the error of that.
	Tried bool
	Err   error
}

// Rollout is the progress that a rollout would have.
type Rollout struct {
	// Updated is the condition that the parent would get.
	Updated metav1.Condition
	// Moved are the children that would move now, Behind those that would stay at earlier versions.
	Moved, Behind []object.Key
}

// Preview follows a sync of a parent without its effects: it writes nothing but dry runs, and does not change the state
// of the controller. It uses the caches of the controller, and the objects that earlier syncs have found to need no
// write.
func (p *Previewer) Preview(ctx context.Context, parent object.Key, options Options) *Preview {
	found := p.Planner.Observer.Get(parent)
	if found == nil {
		return &Preview{Err: fmt.Errorf("there is no %s", parent)}
	}
	return p.preview(ctx, options, &GivenParent{Object: found, Exists: true}, false)
}

// PreviewAs is Preview as if the parent were the one that AsParent has returned.
func (p *Previewer) PreviewAs(ctx context.Context, parent *GivenParent, options Options) *Preview {
	return p.preview(ctx, options, parent, true)
}

// preview repeats a run that finds no room for a request or an answer, as the controller repeats a sync: each run waits
// for the room that the previous one needed.
func (p *Previewer) preview(ctx context.Context, options Options, parent *GivenParent, isChosen bool) *Preview {
	var bytes int64
	for {
		r := p.newRun(options, parent.Exists)
		r.bytes = bytes
		r.isChosen.Store(isChosen)
		found := r.do(ctx, parent.Object)
		if _, isFull := errors.AsType[*hook.NoRoomError](found.Err); !isFull {
			return found
		}
		bytes = r.bytes
	}
}
