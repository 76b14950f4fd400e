// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func isAttachment(o *object.Object) bool {
	_, attached := o.Annotations[object.DecoratorAnnotation]
	return attached
}

// AnnotationClaims finds the attachments of a DecoratorController's targets: what a target
// controls and an annotation says to be of this controller. Nothing is adopted or let go.
type AnnotationClaims struct {
	// Name is that of the DecoratorController.
	Name string
}

// Prepare puts the annotation that attachments bear into the snapshot.
func (a AnnotationClaims) Prepare(snapshot *pipeline.Snapshot) error {
	snapshot.Selector = labels.Everything()
	snapshot.GeneratedAnnotations = map[string]string{object.DecoratorAnnotation: a.Name}
	return nil
}

// Claim finds the attachments of a type.
func (a AnnotationClaims) Claim(snapshot *pipeline.Snapshot, watch *host.Watch) pipeline.Group {
	parent := snapshot.Parent
	controlled := watch.ControlledBy(parent.UID)
	group := pipeline.Group{Type: watch.Type, Claimed: make([]*object.Object, 0, len(controlled))}
	for _, child := range controlled {
		if a.MayClaim(child) && (parent.Namespace == "" || child.Namespace == parent.Namespace) {
			group.Claimed = append(group.Claimed, child)
		}
	}
	slices.SortFunc(group.Claimed, byName)
	return group
}

// MayClaim tells whether an object is an attachment of this controller.
func (a AnnotationClaims) MayClaim(child *object.Object) bool {
	return child.Annotations[object.DecoratorAnnotation] == a.Name
}

// MayAdopt says that no target adopts an orphan.
func (a AnnotationClaims) MayAdopt(*object.Object) bool { return false }

// Adopts says that the target does not adopt the orphan.
func (a AnnotationClaims) Adopts(_, _ *object.Object) bool { return false }

// Forget has nothing to drop.
func (a AnnotationClaims) Forget(pipeline.Key) {}
