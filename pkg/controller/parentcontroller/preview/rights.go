// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// shown describes objects that a preview shows: their type, their namespace, and their relation to the parent.
type shown struct {
	of        object.Type
	namespace string
	what      string
}

// controllerRevisions is the type of ControllerRevisions.
var controllerRevisions = object.Type{
	GroupVersionResource: v1alpha1.SchemeGroupVersion.WithResource("controllerrevisions"), Kind: "ControllerRevision",
	Namespaced: true,
}

// permit returns an error unless the user of the preview may get the objects that it shows. The error is also the
// refusal of the preview.
func (r *run) permit(ctx context.Context, all ...shown) error {
	var required []rights.Required
	asked := sets.New[shown]()
	for _, one := range all {
		if asked.Has(one) {
			continue
		}
		asked.Insert(one)
		of := rights.Object{GroupResource: one.of.GroupResource(), Namespace: one.namespace}
		required = append(required, rights.To(of, one.what, "get")...)
	}
	return r.require(ctx, required)
}

// permitSelection returns an error unless the user of the preview may list the objects that are selected next, if the
// user chooses them. Otherwise the preview would reveal whether an object with a name or a label exists. The error is
// also the refusal of the preview.
func (r *run) permitSelection(ctx context.Context, toList []rights.Required) error {
	if !r.isChosen.Load() {
		return nil
	}
	return r.require(ctx, toList)
}

// maxChosenTypes bounds the types that the answer of a customize hook may name if the user of the preview chooses
// it: the server watches all of them.
const maxChosenTypes = 64

// permitRelated is permitSelection of related objects.
func (r *run) permitRelated(ctx context.Context, reads []rights.Required) error {
	toList := slices.DeleteFunc(slices.Clone(reads), func(one rights.Required) bool { return one.Verb != "list" })
	types := sets.New[schema.GroupResource]()
	for _, one := range toList {
		types.Insert(one.GroupResource)
	}
	if r.isChosen.Load() && types.Len() > maxChosenTypes {
		return fmt.Errorf("customize hook: the answer names %d types, but the maximum in a review of a given object "+
			"or answer is %d", types.Len(), maxChosenTypes)
	}
	return r.permitSelection(ctx, toList)
}

// toSelectChildren returns the rights to list the objects that the children of a parent are selected among.
func (p *Previewer) toSelectChildren(parent *object.Object) (required []rights.Required) {
	within := p.Namespaces.Names()
	if parent.Namespace != "" {
		within = []string{parent.Namespace}
	}
	for _, child := range p.Children {
		for _, of := range rights.ObjectsOf(child.GroupResource(), child.Namespaced, within) {
			required = append(required, rights.To(of, "its children", "list")...)
		}
	}
	return required
}

// mayWrite returns an error unless the user of the preview may make the writes of a plan. It is called before they are
// sent in a dry run: a given answer of the hook decides about the writes.
func (r *run) mayWrite(ctx context.Context, planned *pipeline.Plan) error {
	if r.options.Until != v1alpha1.SyncReviewUntilDryRun || r.options.IsAuthor || !r.isGiven.Load() {
		return nil
	}
	var required []rights.Required
	for i := range planned.Steps {
		if step := &planned.Steps[i]; step.Op.Writes() {
			required = append(required, rights.Required{Right: rightTo(step), For: "the dry run of a given answer"})
		}
	}
	return r.require(ctx, required)
}

// rightTo returns the right to make the write of a step.
func rightTo(step *pipeline.Step) rights.Right {
	of := rights.Object{GroupResource: step.Type.GroupResource(), Namespace: step.Namespace}
	if step.Op == pipeline.Status && step.Type.StatusSubresource {
		of.Subresource = "status"
	}
	verb := "patch"
	switch {
	case step.Op.Deletes():
		verb = "delete"
	case step.Op == pipeline.Create:
		verb = "create"
	case step.Op == pipeline.Update, step.Op.OnParent():
		verb = "update"
	}
	return rights.Right{Object: of, Verb: verb}
}

// require returns an error unless the user of the preview has some rights. The error is also the refusal of the
// preview.
func (r *run) require(ctx context.Context, required []rights.Required) error {
	if len(required) == 0 {
		return nil
	}
	err := r.options.Permit(ctx, required)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.preview.Refusal = err
	}
	return err
}

// childrenOf returns the children that a preview of a snapshot may show. It shows a kept child in a step.
func childrenOf(snapshot *pipeline.Snapshot) (all []shown) {
	for _, group := range snapshot.Children {
		for _, objects := range [][]*object.Object{group.Claimed, group.Kept, group.Release} {
			for _, child := range objects {
				all = append(all, shown{group.Type, child.Namespace, "its children"})
			}
		}
	}
	return all
}

// relatedOf returns the related objects that a snapshot shows.
func relatedOf(snapshot *pipeline.Snapshot) (all []shown) {
	for of, one := range snapshot.RelatedObjects() {
		all = append(all, shown{of, one.Namespace, "its related objects"})
	}
	return all
}

// answeredBy returns the children that a response shows. The plan refuses a child whose type the controller does not
// know.
func answeredBy(snapshot *pipeline.Snapshot, response *pipeline.Response) (all []shown) {
	for _, child := range response.Children {
		for _, group := range snapshot.Children {
			if of := group.Type; of.GroupKind() == child.GroupVersionKind().GroupKind() {
				namespace := ""
				if of.Namespaced {
					namespace = cmp.Or(child.Namespace, snapshot.Parent.Namespace)
				}
				all = append(all, shown{of, namespace, "its children"})
			}
		}
	}
	return all
}

// stepsOf returns the objects that steps show.
func stepsOf(steps []Step) (all []shown) {
	for i := range steps {
		if step := &steps[i]; !step.Op.OnParent() {
			all = append(all, shown{step.Type, step.Namespace, "its children"})
		}
	}
	return all
}
