// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Claims decides which objects are the children of which parent.
type Claims interface {
	// Prepare adds to the snapshot what the children of its parent have in common: a
	// selector, generated labels and annotations. An error means that the parent's selector
	// is not usable.
	Prepare(snapshot *pipeline.Snapshot) error
	// Claim returns the objects of a type that are children of the snapshot's parent, with
	// those to adopt and to release. Prepare was called before.
	Claim(snapshot *pipeline.Snapshot, view *cache.View) pipeline.Group
	// MayClaim reports whether an object that a parent controls may be its child.
	MayClaim(child *object.Object) bool
	// MayAdopt reports whether there may be a parent that adopts the orphan.
	MayAdopt(orphan *object.Object) bool
	// Adopters returns the objects of a parents' type that may adopt the orphan: all those for which
	// Adopts returns true, and maybe others.
	Adopters(parents *cache.View, orphan *object.Object) []*object.Object
	// Adopts reports whether the parent adopts the orphan.
	Adopts(parent, orphan *object.Object) bool
	// Forget drops what is cached about a parent that is gone.
	Forget(parent object.Key)
	// Fresh returns claims by the same rules that have cached nothing.
	Fresh() Claims
}

// isAttachment reports whether an object is an attachment of any DecoratorController.
func isAttachment(o *object.Object) bool {
	_, attached := o.Annotations[object.DecoratorAnnotation]
	return attached
}

func byName(a, b *object.Object) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
