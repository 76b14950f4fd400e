// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"io"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// RevisionsPlugin is the name of the plugin Revisions.
const RevisionsPlugin = "ControllerRevisions"

// restore is the verb of those who may write ControllerRevisions, such as a tool that restores a
// backup.
const restore = "restore"

// Revisions refuses ControllerRevisions that are not written by the server itself, unless the user may
// restore them. They are the memory of controllers: what is in one becomes what a hook is told of a
// parent.
type Revisions struct {
	*admission.Handler
	hostUser
}

var (
	_ admission.ValidationInterface = &Revisions{}
	_ WantsHost                     = &Revisions{}
)

// NewRevisions returns the plugin. It takes no configuration.
func NewRevisions(io.Reader) (admission.Interface, error) {
	return &Revisions{Handler: admission.NewHandler(admission.Create, admission.Update)}, nil
}

// Validate returns an error if the user may not write the ControllerRevision, or if the host cannot be
// asked.
func (r *Revisions) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated, ok := request.GetObject().(*v1alpha1.ControllerRevision)
	if !ok || onlyTakesAway(updated, request.GetOldObject()) {
		return nil
	}
	author := request.GetUserInfo()
	if mayDoAnything(author) {
		return nil
	}
	of := rights.Right{Object: rights.Object{GroupResource: request.GetResource().GroupResource(), Namespace: request.GetNamespace(), Name: request.GetName()}, Verb: restore}
	allowed, err := askHost(ctx, request, "may "+restore+" it", func(ctx context.Context) (bool, error) {
		return newReviewer(r.host.Reviews, author).Allows(ctx, of)
	})
	if err != nil || allowed {
		return err
	}
	return admission.NewForbidden(request, fmt.Errorf("ControllerRevisions are the memory of controllers, and only the server writes them; "+
		"to restore a backup, user %q needs the verb %s on %s in the namespace %q", author.GetName(), restore, of.GroupResource, of.Namespace))
}

// onlyTakesAway reports whether an update changes nothing but that finalizers and owner references are
// gone or no longer block. That is what the host's garbage collector does.
func onlyTakesAway(updated *v1alpha1.ControllerRevision, old runtime.Object) bool {
	stored, ok := old.(*v1alpha1.ControllerRevision)
	if !ok {
		return false
	}
	for _, finalizer := range updated.Finalizers {
		if !slices.Contains(stored.Finalizers, finalizer) {
			return false
		}
	}
	for _, owner := range updated.OwnerReferences {
		if !slices.ContainsFunc(stored.OwnerReferences, func(before metav1.OwnerReference) bool { return isSameOrWeaker(owner, before) }) {
			return false
		}
	}
	without := func(revision *v1alpha1.ControllerRevision) *v1alpha1.ControllerRevision {
		rest := *revision
		rest.TypeMeta = metav1.TypeMeta{}
		rest.Finalizers, rest.OwnerReferences, rest.ManagedFields, rest.ResourceVersion, rest.Generation = nil, nil, nil, "", 0
		return &rest
	}
	return apiequality.Semantic.DeepEqual(without(updated), without(stored))
}

// isSameOrWeaker reports whether an owner reference is as it was before, or only no longer blocks the
// deletion of the owner.
func isSameOrWeaker(owner, before metav1.OwnerReference) bool {
	if owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
		before.BlockOwnerDeletion = owner.BlockOwnerDeletion
	}
	return apiequality.Semantic.DeepEqual(owner, before)
}
