// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// AnnotationClaims finds the attachments of a DecoratorController's targets: the objects that a
// target controls and that have the controller's name in an annotation. It adopts no orphans and
// releases nothing.
type AnnotationClaims struct {
	// Name is the name of the DecoratorController.
	Name string
}

// Prepare adds the annotation of attachments to the snapshot.
func (c AnnotationClaims) Prepare(snapshot *pipeline.Snapshot) error {
	snapshot.Selector = labels.Everything()
	snapshot.GeneratedAnnotations = map[string]string{object.DecoratorAnnotation: c.Name}
	return nil
}

// Claim returns the attachments of a type.
func (c AnnotationClaims) Claim(snapshot *pipeline.Snapshot, view *cache.View) pipeline.Group {
	parent := snapshot.Parent
	controlled := view.ControlledBy(parent.UID)
	group := pipeline.Group{Type: view.Type, Claimed: make([]*object.Object, 0, len(controlled))}
	for _, child := range controlled {
		if c.MayClaim(child) && (parent.Namespace == "" || child.Namespace == parent.Namespace) {
			group.Claimed = append(group.Claimed, child)
			if parent.DeletionTimestamp == nil && namesOtherVersion(child, snapshot.ParentType) {
				group.Adopt = append(group.Adopt, child)
			}
		}
	}
	slices.SortFunc(group.Claimed, byName)
	slices.SortFunc(group.Adopt, byName)
	return group
}

// MayClaim reports whether an object is an attachment of this controller.
func (c AnnotationClaims) MayClaim(child *object.Object) bool {
	return child.Annotations[object.DecoratorAnnotation] == c.Name
}

// MayAdopt returns false: targets adopt no orphans.
func (c AnnotationClaims) MayAdopt(*object.Object) bool { return false }

// Adopters returns none.
func (c AnnotationClaims) Adopters(*cache.View, *object.Object) []*object.Object { return nil }

// Adopts returns false.
func (c AnnotationClaims) Adopts(_, _ *object.Object) bool { return false }

// Forget does nothing: nothing is cached.
func (c AnnotationClaims) Forget(object.Key) {}

// Fresh returns the claims themselves.
func (c AnnotationClaims) Fresh() Claims { return c }
