// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/preview"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// reviewing is one review under way.
type reviewing struct {
	*Reviews
	spec   *v1alpha1.SyncReviewSpec
	author rights.User
	permit *permit
	limit  int

	subject *subject
	// isStored is true if the controller exists, and its author may read it.
	isStored bool
	// isAuthor is true if the author of the review may give the controller another spec, and does so by a candidate.
	isAuthor bool
	status   v1alpha1.SyncReviewStatus
	warnings []string
	// size is the size of the syncs in the status, in bytes.
	size int
}

// runSafely turns a panic into an error.
func (r *reviewing) runSafely(ctx context.Context) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			klog.FromContext(ctx).Error(nil, "Panic in a review", "panic", panicked, "stack", string(debug.Stack()))
			err = apierrors.NewInternalError(fmt.Errorf("panic: %v", panicked))
		}
	}()
	return r.run(ctx)
}

// run builds the status. The error is the error of the entire review.
func (r *reviewing) run(ctx context.Context) (err error) {
	if r.subject, err = r.findSubject(ctx); err != nil {
		return err
	}
	defer func() { r.subject.release() }()
	r.status.Controller = v1alpha1.ReviewedByRunning
	if r.spec.Object != nil {
		return r.reviewObject(ctx)
	}
	parents, more, err := r.parents(ctx)
	if err != nil {
		return err
	}
	for i, parent := range parents {
		began := time.Now()
		done, err := r.reviewParent(ctx, parent)
		if err != nil {
			return err
		}
		if !done {
			more = true
			parents = parents[:i]
			break
		}
		if i < len(parents)-1 {
			pause(ctx, time.Since(began))
		}
	}
	if more && len(parents) > 0 {
		r.status.Continue = encodeContinue(object.KeyOf(parents[len(parents)-1]))
	}
	return nil
}

// pause waits after one parent of several so that the syncs of the running controllers have the
// processor to themselves most of the time.
func pause(ctx context.Context, took time.Duration) {
	timer := time.NewTimer(min(pauseFactor*took, maxPause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// reviewParent adds the sync of a parent to the status. It returns done=false if no room or time is left and the
// status already has other syncs.
func (r *reviewing) reviewParent(ctx context.Context, parent *object.Object) (done bool, err error) {
	if ctx.Err() != nil && len(r.status.Syncs) > 0 {
		r.note(fmt.Sprintf("the review is not complete: %v; to review the other parents, set spec.parents.continue to "+
			"status.continue", context.Cause(ctx)))
		return false, nil
	}
	controller, runs, err := r.subject.controller(ctx)
	if err != nil {
		return false, err
	}
	of := r.newSync(controller)
	preview := controller.Preview(ctx, object.KeyOf(parent), of.options())
	if ctx.Err() != nil && preview.Err != nil && len(r.status.Syncs) > 0 {
		r.note(fmt.Sprintf("the review is not complete: %v; to review the other parents, set spec.parents.continue to "+
			"status.continue", context.Cause(ctx)))
		return false, nil
	}
	return r.add(of, preview, runs)
}

// reviewObject adds the sync of a parent that need not exist to the status.
func (r *reviewing) reviewObject(ctx context.Context) error {
	controller, runs, err := r.subject.controller(ctx)
	if err != nil {
		return err
	}
	parent, err := controller.AsParent(ctx, r.spec.Object.Raw, func(of object.Type, namespace string, exists bool) error {
		return r.mayWrite(ctx, of, namespace, exists)
	})
	if err != nil {
		return invalid("spec.object", err)
	}
	for _, note := range parent.Notes {
		r.note(note)
	}
	of := r.newSync(controller)
	_, err = r.add(of, controller.PreviewAs(ctx, parent, of.options()), runs)
	return err
}

// mayWrite returns an error unless the author may write the object that is reviewed. Whether it exists
// is revealed only to users who may get it.
func (r *reviewing) mayWrite(ctx context.Context, of object.Type, namespace string, exists bool) error {
	to := rights.Object{GroupResource: of.GroupResource(), Namespace: namespace}
	if err := r.permit.check(ctx, rights.To(to, "spec.object", "get")); err != nil {
		return err
	}
	verb := "create"
	if exists {
		verb = "update"
	}
	return r.permit.check(ctx, rights.To(to, "spec.object", verb))
}

// add adds a sync to the status. It returns done=false if the status has other syncs and has no room for this one.
func (r *reviewing) add(of *syncing, preview *preview.Preview, runs bool) (done bool, err error) {
	if preview.Refusal != nil {
		return false, preview.Refusal
	}
	sync := of.sync(preview)
	size := sizeOf(sync)
	if r.size+size > maxAnswerBytes && len(r.status.Syncs) > 0 {
		r.note(fmt.Sprintf("the answer would be larger than %d MiB; to review the other parents, set "+
			"spec.parents.continue to status.continue",
			maxAnswerBytes>>20))
		return false, nil
	}
	if size > maxAnswerBytes {
		truncate(sync)
		size = sizeOf(sync)
		r.note(fmt.Sprintf("the sync of %s %s takes more than %d MiB: the review omits its large parts", sync.Parent.Kind,
			sync.Parent.Name, maxAnswerBytes>>20))
	}
	if !runs {
		r.status.Controller = v1alpha1.ReviewedByTemporary
	}
	r.size += size
	r.status.Syncs = append(r.status.Syncs, *sync)
	count(&r.status.Summary, sync)
	return true, nil
}

func (r *reviewing) note(text string) { r.status.Notes = append(r.status.Notes, text) }

// sizeOf returns the size of a sync in bytes.
func sizeOf(sync *v1alpha1.ReviewedSync) int {
	raw, err := json.Marshal(sync)
	if err != nil {
		return maxAnswerBytes + 1
	}
	return len(raw)
}

// truncate leaves out the large parts: first requests and answers, then the changes of steps, then the steps.
func truncate(sync *v1alpha1.ReviewedSync) {
	sync.Truncated = true
	for i := range sync.Calls {
		sync.Calls[i].Request, sync.Calls[i].Response = nil, nil
	}
	if sizeOf(sync) <= maxAnswerBytes {
		return
	}
	for i := range sync.Steps {
		sync.Steps[i].Changes = nil
	}
	if sizeOf(sync) > maxAnswerBytes {
		sync.Steps, sync.Refused = nil, nil
	}
}

// trace counts and logs a review that has ended. A controller that its author may not read, or that does not exist, is
// counted without its name.
func (r *reviewing) trace(ctx context.Context, err error) {
	result := "answered"
	switch {
	case apierrors.IsForbidden(err):
		result = "refused"
	case err != nil:
		result = "failed"
	}
	of, name := r.spec.Controller, ""
	if r.isStored {
		name = of.Name
	}
	r.counts.WithLabelValues(name, of.Kind, result).Inc()
	logger := klog.FromContext(ctx).WithValues("user", r.author.Name, "kind", of.Kind, "controller", of.Name,
		"until", r.spec.Until, "callsHooks", r.spec.Calls != v1alpha1.SyncReviewCallsNone, "result", result,
		"candidate", r.spec.Candidate != nil, "request", r.spec.Request != nil, "object", r.spec.Object != nil,
		"answers", r.spec.Response != nil || len(r.spec.Responses) > 0, "syncs", len(r.status.Syncs))
	if err != nil {
		logger = logger.WithValues("reason", apierrors.ReasonForError(err))
	}
	logger.Info("Reviewed syncs")
}
