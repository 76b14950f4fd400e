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

// recreate deletes a child that is to come back changed. Where only the host can tell
// whether it would be changed, the host is asked first; a child that would not be, or
// that the host does not let us ask about, is kept and returned.
func (a *Actor) recreate(ctx context.Context, step pipeline.Step) (*object.Object, error) {
	if step.Body != nil {
		differs, err := a.wouldChange(ctx, step)
		if apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) {
			klog.FromContext(ctx).Error(err, "Cannot try whether a child would change, it is left alone",
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

// wouldChange tells whether applying the body would change the child's content. A
// rise of the generation, which comes with such a change, is none by itself.
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
		// It may be the cache that is behind, and not the child that differs.
		return false, apierrors.NewConflict(step.Type.GroupResource(), step.Name, fmt.Errorf("it is not as it was observed"))
	}
	return true, nil
}

// canBeCreatedAgain tells whether a child that must not be changed so can be created so.
// Creation checks a child before it looks whether its name is free.
func (a *Actor) canBeCreatedAgain(ctx context.Context, step pipeline.Step, invalid error) (bool, error) {
	_, err := a.Writer.TryCreate(ctx, step.Type, step.Namespace, step.Body)
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		return true, nil
	case apierrors.IsInvalid(err):
		return false, fmt.Errorf("it was not deleted, since it could not be created again: %w", err)
	default:
		// The reason of err must not be taken for one why the child could not be tried.
		return false, fmt.Errorf("%w; whether it could be created again is not known: %s", invalid, err.Error())
	}
}
