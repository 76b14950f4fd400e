// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// recreate deletes a child that a later sync creates again in another form. If the step has a body,
// only the host knows whether the child would change, so a dry run asks it first. A child that
// would not change, or for which the host refuses the dry run, is kept and returned.
func (a *Actor) recreate(ctx context.Context, step pipeline.Step) (*object.Object, error) {
	if step.Body != nil {
		differs, err := a.wouldChange(ctx, step)
		if apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) {
			klog.FromContext(ctx).Error(err, "Failed to try whether a child would change, it is left alone",
				"kind", step.Type.Kind, "object", klog.KRef(step.Namespace, step.Name))
			return step.Observed, nil
		}
		if err != nil {
			return nil, err
		}
		if !differs {
			return step.Observed, nil
		}
	}
	return nil, a.Writer.Delete(ctx, step.Type, step.Key().NamespacedName, step.Observed.UID)
}

// wouldChange reports whether applying the body would change the child's content, by a dry run. A
// higher generation alone is no change.
func (a *Actor) wouldChange(ctx context.Context, step pipeline.Step) (bool, error) {
	result, err := a.Writer.TryApply(ctx, step.Type, step.Key().NamespacedName, step.Body)
	switch {
	case apierrors.IsInvalid(err) && !isReplaced(err):
		return a.canBeCreatedAgain(ctx, step, err)
	case err != nil:
		return false, err
	case result.Hash == step.Observed.Hash:
		return false, nil
	case result.ResourceVersion != step.Observed.ResourceVersion:
		// The cache may be behind, and the child may not differ.
		return false, apierrors.NewConflict(step.Type.GroupResource(), step.Name, fmt.Errorf("it is not as it was observed"))
	}
	return true, nil
}

// canBeCreatedAgain reports whether a child that cannot be changed in this way can be created in
// this form, by a dry run. The host validates a new object before it checks that the name is free.
func (a *Actor) canBeCreatedAgain(ctx context.Context, step pipeline.Step, invalid error) (bool, error) {
	_, err := a.Writer.TryCreate(ctx, step.Type, step.Namespace, step.Body)
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		return true, nil
	case apierrors.IsInvalid(err):
		return false, fmt.Errorf("it was not deleted, since it could not be created again: %w", err)
	default:
		// err is not wrapped: recreate would take its reason for that of the first dry run.
		return false, fmt.Errorf("%w; whether it could be created again is not known: %s", invalid, err.Error())
	}
}
