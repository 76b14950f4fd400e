// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// maxAttempts is the maximum number of attempts to write the parent while others write it, too. Metacontroller
// makes as many.
const maxAttempts = 4

// lastOfParent returns the parent after the last of the outcomes; nil if no outcome is about the parent.
func lastOfParent(outcomes []pipeline.Outcome) (parent *object.Object) {
	for i := range outcomes {
		if outcomes[i].Op.OnParent() {
			parent = outcomes[i].Latest()
		}
	}
	return parent
}

// writeParent takes a step that writes the parent. It starts from the form of the parent that an earlier write of this
// sync has returned, if there is one. If others have written the parent since, it starts again from the current form.
// It updates the step to the last write. The result is nil if nothing had to be written. The error is the error of the
// last attempt.
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

// mayWriteOn reports whether a decision about the parent is still valid for its live form: it is the same object, and
// it has the generation that the hook has seen, unless the step does not depend on a hook. It is being deleted only if
// it was before. If its type has no generations, its content must also be the same.
func mayWriteOn(step *pipeline.Step, live *object.Object) bool {
	observed := step.Observed
	switch {
	case live.UID != observed.UID:
		return false
	case step.AnyGeneration:
		return true
	}
	return live.Generation == observed.Generation &&
		(live.DeletionTimestamp == nil) == (observed.DeletionTimestamp == nil) &&
		(live.Generation != 0 || live.ContentHash() == observed.ContentHash())
}

// rebase changes the step to start from another form of the parent.
func rebase(step *pipeline.Step, parent *object.Object) (err error) {
	step.Observed = parent
	step.Body, err = step.Rebase(parent)
	return err
}
