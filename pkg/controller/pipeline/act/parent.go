// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// maxAttempts is the maximum number of times that a write of the parent is tried while others write
// the parent, too. Metacontroller tries as often.
const maxAttempts = 4

// lastOfParent returns the parent as the last of the outcomes leaves it; nil if none is about it.
func lastOfParent(outcomes []pipeline.Outcome) (parent *object.Object) {
	for i := range outcomes {
		if outcomes[i].Op.OnParent() {
			parent = outcomes[i].Latest()
		}
	}
	return parent
}

// writeParent takes a step that writes the parent. It starts from the form of the parent that an
// earlier write of this sync has made, if there is one. If others have written the parent since, it
// starts again from what is there now. The step becomes the one that was taken last. The result is
// nil if nothing had to be written. The error is that of the last attempt.
func (a *Actor) writeParent(ctx context.Context, step *pipeline.Step, parent *object.Object) (*object.Object, error) {
	if parent != nil {
		if err := rebase(step, parent); err != nil {
			return nil, err
		}
	}
	for attempt := 1; ; attempt++ {
		if step.Body == nil {
			return nil, nil
		}
		result, err := a.write(ctx, *step)
		if attempt == maxAttempts || !apierrors.IsConflict(err) {
			return result, err
		}
		live, getErr := a.Writer.Get(ctx, step.Type, step.Key().NamespacedName)
		switch {
		case getErr != nil:
			return nil, getErr
		case !mayWriteOn(step, live):
			return nil, err
		}
		if err := rebase(step, live); err != nil {
			return nil, err
		}
	}
}

// mayWriteOn reports whether what was decided about the parent also holds for a later form of it: it
// is the same object, in the generation that the hook was asked about unless no hook was. If its type
// has no generations, its content must be the same, and whether it is being deleted.
func mayWriteOn(step *pipeline.Step, live *object.Object) bool {
	observed := step.Observed
	switch {
	case live.UID != observed.UID:
		return false
	case step.AnyGeneration:
		return true
	}
	return live.Generation == observed.Generation && (live.DeletionTimestamp == nil) == (observed.DeletionTimestamp == nil) &&
		(live.Generation != 0 || live.ContentHash() == observed.ContentHash())
}

// rebase makes the step one on another form of the parent.
func rebase(step *pipeline.Step, parent *object.Object) (err error) {
	step.Observed = parent
	step.Body, err = step.Rebase(parent)
	return err
}
