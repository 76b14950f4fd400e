// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// isNameConflict reports whether a child was not created because an object of its name exists. An
// Apply that creates a child conflicts with any existing object.
func isNameConflict(step pipeline.Step, err error) bool {
	return step.Creates() && (apierrors.IsAlreadyExists(err) || step.Op == pipeline.Apply && apierrors.IsConflict(err))
}

// resolveNameConflict asks the host which object has the name of a child that was not created. It
// turns the name conflict into a conflict, which the next sync resolves, in two cases: the object
// is the parent's own child, which the cache does not show yet, since the answer to an earlier
// creation got lost; or the name is free again.
func (a *Actor) resolveNameConflict(ctx context.Context, snapshot *pipeline.Snapshot, outcome pipeline.Outcome) pipeline.Outcome {
	if !outcome.NameConflict {
		return outcome
	}
	holder, err := a.Writer.Get(ctx, outcome.Type, types.NamespacedName{Namespace: outcome.Namespace, Name: outcome.Name})
	own := err == nil && metav1.IsControlledBy(holder, snapshot.Parent) && isOfSameHostedController(snapshot, holder)
	if own || apierrors.IsNotFound(err) {
		outcome.NameConflict, outcome.Conflict = false, true
	} else if err == nil {
		outcome.Holder = holder
	}
	return outcome
}

// isOfSameHostedController reports whether a child of the parent belongs to the controller that is
// syncing it, and not to another one with the same parent. Attachments carry the name of their
// DecoratorController; the children of composites carry none.
func isOfSameHostedController(snapshot *pipeline.Snapshot, child *object.Object) bool {
	return child.Annotations[object.DecoratorAnnotation] == snapshot.GeneratedAnnotations[object.DecoratorAnnotation]
}
