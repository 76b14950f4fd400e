// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// ownerReference returns the reference to the parent that its children carry.
func (p *parent) ownerReference() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         p.parentType.GroupVersion().String(),
		Kind:               p.parentType.Kind,
		Name:               p.Name,
		UID:                p.UID,
		Controller:         ptr.To(true),
		BlockOwnerDeletion: ptr.To(true),
	}
}

func (p *parent) owns(reference metav1.OwnerReference) bool { return reference.UID == p.UID }

// isMeantBy reports whether a reference in an answer means the parent. It may lack the UID, or have that of a former
// parent of the same name.
func (p *parent) isMeantBy(reference metav1.OwnerReference) bool {
	return p.owns(reference) || reference.Name == p.Name &&
		schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind).GroupKind() == p.parentType.GroupKind()
}

// own makes the parent the controller of a child that is going to be written. It completes the reference to the parent
// if there is one, and leaves out owners that cannot own the child.
func (p *parent) own(content map[string]any) {
	child := unstructured.Unstructured{Object: content}
	listed := child.GetOwnerReferences()
	owners := make([]metav1.OwnerReference, 0, len(listed)+1)
	hasParent := false
	for _, owner := range listed {
		switch {
		case p.isMeantBy(owner):
			if !hasParent {
				owners, hasParent = append(owners, p.ownerReference()), true
			}
		case p.whyNoOwner(owner, child.GetNamespace()) == "":
			owners = append(owners, owner)
		}
	}
	if !hasParent {
		owners = append(owners, p.ownerReference())
	}
	child.SetOwnerReferences(owners)
}

// whyNoOwner returns why an owner that an answer lists cannot own a child in a namespace; "" if it can, as far as is
// known.
func (p *parent) whyNoOwner(owner metav1.OwnerReference, namespace string) string {
	if ptr.Deref(owner.Controller, false) {
		return "the child has one controller, its parent"
	}
	if p.shown == nil {
		p.shown = newShownObjects(p.snapshot)
	}
	if at, isShown := p.shown.namespaces[owner.UID]; isShown && at != "" && at != namespace {
		return "it is in the namespace " + at
	}
	if p.shown.owners[owner.UID] {
		return "it owns the object that was copied"
	}
	return ""
}

// shownObjects are what a hook was shown of objects that it may have copied.
type shownObjects struct {
	// namespaces are those of all objects.
	namespaces map[types.UID]string
	// owners are the owners of the related objects that are not children of the parent.
	owners map[types.UID]bool
}

func newShownObjects(snapshot *pipeline.Snapshot) *shownObjects {
	shown := &shownObjects{namespaces: map[types.UID]string{}, owners: map[types.UID]bool{}}
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			shown.namespaces[child.UID] = child.Namespace
		}
	}
	for _, related := range snapshot.Related {
		for _, o := range related.Objects {
			shown.namespaces[o.UID] = o.Namespace
			if metav1.IsControlledBy(o, snapshot.Parent) {
				continue
			}
			for _, owner := range o.OwnerReferences {
				shown.owners[owner.UID] = true
			}
		}
	}
	return shown
}

// warnOfOwners adds a warning about the owners of a desired child that are left out, or that are written otherwise.
func (p *parent) warnOfOwners(of object.Key, desired *object.Object) {
	for _, owner := range desired.OwnerReferences {
		wrong := ""
		if !p.isMeantBy(owner) {
			if why := p.whyNoOwner(owner, of.Namespace); why != "" {
				wrong = fmt.Sprintf("%s %s, which cannot own it, because %s: it is left out", owner.Kind, owner.Name, why)
			}
		} else if !ptr.Deref(owner.Controller, true) {
			wrong = "the parent with controller: false: it is written with true, because a parent controls its children"
		}
		if wrong == "" {
			continue
		}
		about := of.GroupKind.String()
		isSame := func(known pipeline.Warning) bool {
			return known.Reason == pipeline.OwnerIgnored && known.About == about
		}
		if !slices.ContainsFunc(p.ofOwners, isSame) {
			p.ofOwners = append(p.ofOwners, pipeline.Warning{Reason: pipeline.OwnerIgnored, About: about, Message: fmt.Sprintf(
				"%s: metadata.ownerReferences names %s; leave metadata.ownerReferences out of the answer", of, wrong)})
		}
	}
}
