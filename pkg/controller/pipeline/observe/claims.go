// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Claims decides which objects are the children of which parent.
type Claims interface {
	// Prepare adds to the snapshot what the children of its parent have in common: a selector, and generated labels
	// and annotations. It returns an error if the parent's selector is not usable.
	Prepare(snapshot *pipeline.Snapshot) error
	// Claim returns the objects of a type that are children of the snapshot's parent, with those to adopt and to
	// release. Prepare must be called first.
	Claim(snapshot *pipeline.Snapshot, view *cache.View) pipeline.Group
	// MayClaim reports whether an object that a parent controls may be its child.
	MayClaim(child *object.Object) bool
	// MayAdopt reports whether there may be a parent that adopts the orphan.
	MayAdopt(orphan *object.Object) bool
	// Adopters returns the objects of a parent type that may adopt the orphan: all for which Adopts returns true, and
	// maybe others.
	Adopters(parents *cache.View, orphan *object.Object) []*object.Object
	// Adopts reports whether the parent adopts the orphan.
	Adopts(parent, orphan *object.Object) bool
	// Forget drops what is cached about a parent that is gone.
	Forget(parent object.Key)
	// Fresh returns claims with the same rules and an empty cache.
	Fresh() Claims
}

// isAttachment reports whether an object is an attachment of any DecoratorController.
func isAttachment(o *object.Object) bool {
	_, attached := o.Annotations[object.DecoratorAnnotation]
	return attached
}

// isSelfOrOwner reports whether an orphan is the parent itself or one of its owners.
func isSelfOrOwner(orphan, parent *object.Object) bool {
	return orphan.UID == parent.UID ||
		slices.ContainsFunc(parent.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == orphan.UID })
}

// namesOtherVersion reports whether a child that is not being deleted refers to its parent in another version than
// the version of the parent's type.
func namesOtherVersion(child *object.Object, parentType object.Type) bool {
	reference := metav1.GetControllerOfNoCopy(child)
	if reference == nil || child.DeletionTimestamp != nil {
		return false
	}
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	return err != nil || version != parentType.GroupVersion()
}

func byName(a, b *object.Object) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
