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

// resolveNameConflict asks the host who has the name of a child that is taken. It may be the
// parent's own child, if the answer to an earlier creation got lost and the cache does
// not show it yet, and it may be free again: then the next sync sees how it is.
func (a *Actor) resolveNameConflict(ctx context.Context, snapshot *pipeline.Snapshot, outcome pipeline.Outcome) pipeline.Outcome {
	if !outcome.NameConflict {
		return outcome
	}
	holder, err := a.Writer.Get(ctx, outcome.Type, types.NamespacedName{Namespace: outcome.Namespace, Name: outcome.Name})
	own := err == nil && controls(snapshot.Parent, holder) && isOfSameHostedController(snapshot, holder)
	if own || apierrors.IsNotFound(err) {
		outcome.NameConflict, outcome.Conflict = false, true
	}
	return outcome
}

func controls(parent, child *object.Object) bool {
	controller := metav1.GetControllerOfNoCopy(child)
	return controller != nil && controller.UID == parent.UID
}

// isOfSameHostedController tells whether what the parent controls is of the controller that
// syncs it, and not of another one that has the same parent: attachments bear the name of
// their DecoratorController, and children none.
func isOfSameHostedController(snapshot *pipeline.Snapshot, child *object.Object) bool {
	return child.Annotations[object.DecoratorAnnotation] == snapshot.GeneratedAnnotations[object.DecoratorAnnotation]
}
