// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// parent is the parent of a sync, with the data that every decision about its children needs.
type parent struct {
	*object.Object
	snapshot   *pipeline.Snapshot
	parentType object.Type
	// schema is the host's schema of the parent; nil if there is none. schemasVersion changes when this schema
	// or the schema of a child does.
	schema         *openapi.Type
	schemasVersion uint64
	selector       labels.Selector
	// generatedLabels are added to desired children that lack them.
	generatedLabels map[string]string
	// generatedAnnotations are set on all children that are written.
	generatedAnnotations map[string]string
	// foreignStatus is true if the status has another writer.
	foreignStatus bool
	// rulesField is the field of the controller that declares the types of the children.
	rulesField string
	// unknown are the warnings about desired fields that the host does not know.
	unknown fieldWarnings
	// warned are the warnings that the host returned for earlier writes.
	warned hostWarnings
	// outdated are the warnings about children that OnDelete does not change.
	outdated []pipeline.Warning
	// visible are the objects that the hook may have copied; nil until they are needed.
	visible *visibleObjects
	// ownerWarnings are about the owners that the hook lists.
	ownerWarnings []pipeline.Warning
	// kept are the warnings about children that the hook does not list and the plan does not delete.
	kept []pipeline.Warning
}

func newParent(snapshot *pipeline.Snapshot, rulesField string) *parent {
	return &parent{
		Object:               snapshot.Parent,
		snapshot:             snapshot,
		parentType:           snapshot.ParentType,
		schema:               snapshot.ParentSchema,
		schemasVersion:       snapshot.SchemasVersion,
		selector:             snapshot.Selector,
		generatedLabels:      snapshot.GeneratedLabels,
		generatedAnnotations: snapshot.GeneratedAnnotations,
		foreignStatus:        snapshot.ForeignStatus,
		rulesField:           rulesField,
	}
}

// key returns the key of the parent.
func (p *parent) key() object.Key {
	return object.Key{GroupKind: p.parentType.GroupKind(), NamespacedName: p.Key()}
}

// checkLabels returns an error if the selector does not match one of the desired children, because later syncs would
// not find that child. The hook's entire answer is refused then.
func (p *parent) checkLabels(desired []*object.Object) error {
	labels := &completedLabels{generated: p.generatedLabels}
	for _, child := range desired {
		labels.own = child.Labels
		if !p.selector.Matches(labels) {
			return fmt.Errorf("labels on desired child %s %s/%s don't match parent selector %q: "+
				"no child and no status was written; "+
				"give the child labels that match, or set the controller's spec.generateSelector",
				child.Kind, p.namespaceOf(child), child.Name, p.selector)
		}
	}
	return nil
}

// content returns the content of a desired child with the namespace and the generated labels and annotations.
// LastAppliedAnnotation records this content.
func (p *parent) content(desired *object.Object) (map[string]any, error) {
	content, err := desired.Decode()
	if err != nil {
		return nil, err
	}
	child := unstructured.Unstructured{Object: content}
	if desired.Namespace == "" && p.Namespace != "" {
		child.SetNamespace(p.Namespace)
	}
	if len(p.generatedLabels) > 0 {
		child.SetLabels(p.labelsOf(desired))
	}
	// The hook may have copied this annotation from an attachment. With it, the child would not count as
	// the parent's.
	unstructured.RemoveNestedField(content, "metadata", "annotations", object.DecoratorAnnotation)
	for name, value := range p.generatedAnnotations {
		if err := setAnnotation(content, name, value); err != nil {
			return nil, err
		}
	}
	unstructured.RemoveNestedField(content, "metadata", "annotations", object.LastAppliedAnnotation)
	return content, nil
}

func setAnnotation(content map[string]any, name, value string) error {
	if metadata, ok := content["metadata"].(map[string]any); ok && metadata["annotations"] == nil {
		delete(metadata, "annotations") // nothing can be set in a null
	}
	return unstructured.SetNestedField(content, value, "metadata", "annotations", name)
}

// namespaceOf returns the namespace of a desired child: the parent's if the child has none.
func (p *parent) namespaceOf(child *object.Object) string {
	if child.Namespace == "" {
		return p.Namespace
	}
	return child.Namespace
}

// labelsOf returns the labels of a desired child, with the generated ones.
func (p *parent) labelsOf(child *object.Object) labels.Set {
	if len(p.generatedLabels) == 0 {
		return child.Labels
	}
	return labels.Merge(p.generatedLabels, child.Labels)
}

// completedLabels are the labels that labelsOf returns, without a copy. They implement labels.Labels.
type completedLabels struct{ own, generated map[string]string }

// Has reports whether there is a label of that name.
func (c *completedLabels) Has(name string) bool {
	_, there := c.Lookup(name)
	return there
}

// Get returns the value of a label; empty if there is none.
func (c *completedLabels) Get(name string) string {
	value, _ := c.Lookup(name)
	return value
}

// Lookup returns the value of a label and whether there is one.
func (c *completedLabels) Lookup(name string) (value string, there bool) {
	if value, there = c.own[name]; there {
		return value, true
	}
	value, there = c.generated[name]
	return value, there
}

// claim adds the steps that adopt the orphans that the parent's selector matches, update references to the parent
// that are of another version of its type, and release the children that the selector no longer matches. A kept
// orphan is adopted only if the hook lists it.
func (p *parent) claim(plan *pipeline.Plan, group pipeline.Group, desired []*object.Object) error {
	for _, child := range group.Adopt {
		const why = "the parent's selector matches it and it has no controller"
		step := pipeline.Step{Op: pipeline.Adopt, Type: group.Type, Why: why}
		switch {
		case metav1.GetControllerOfNoCopy(child) != nil:
			step.Why = "its reference to the parent has a different version from " + p.parentType.GroupVersion().String()
		case slices.Contains(group.Kept, child) && !p.isDesired(child, desired):
			continue
		}
		owners := ownersPatch{OwnerReferences: append(p.othersOwners(child), p.ownerReference())}
		if metav1.GetControllerOfNoCopy(child) == nil && child.HasLastApplied() && !p.isDesired(child, desired) {
			owners.Annotations = map[string]*string{object.LastAppliedAnnotation: nil} // it is the record of another controller
		}
		if err := owners.fill(&step, child); err != nil {
			return err
		}
		plan.Steps = append(plan.Steps, step)
	}
	for _, child := range group.Release {
		step := pipeline.Step{Op: pipeline.Release, Type: group.Type, Why: "the parent's selector no longer matches it"}
		if err := (ownersPatch{OwnerReferences: p.othersOwners(child)}).fill(&step, child); err != nil {
			return err
		}
		plan.Steps = append(plan.Steps, step)
	}
	return nil
}

// isDesired reports whether the hook lists an observed child.
func (p *parent) isDesired(child *object.Object, desired []*object.Object) bool {
	return slices.ContainsFunc(desired, func(of *object.Object) bool {
		return of.GroupVersionKind() == child.GroupVersionKind() &&
			of.Name == child.Name && p.namespaceOf(of) == child.Namespace
	})
}

// othersOwners returns the owners of a child other than the parent.
func (p *parent) othersOwners(child *object.Object) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(child.OwnerReferences), p.owns)
}

// ownersPatch is the metadata of a merge patch that replaces a child's owners. The host refuses the patch if the child
// has changed since it was observed.
type ownersPatch struct {
	UID             types.UID               `json:"uid"`
	ResourceVersion string                  `json:"resourceVersion"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
	// Annotations removes those that are nil.
	Annotations map[string]*string `json:"annotations,omitempty"`
}

// fill turns the step into the patch of a child.
func (o ownersPatch) fill(step *pipeline.Step, child *object.Object) (err error) {
	o.UID, o.ResourceVersion = child.UID, child.ResourceVersion
	step.Observed, step.Namespace, step.Name = child, child.Namespace, child.Name
	step.Body, err = json.Marshal(map[string]ownersPatch{"metadata": o})
	return err
}

// ownerReference returns the owner reference of the parent's children.
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

// refersToParent reports whether a reference in an answer refers to the parent. It may lack the UID, or have the UID
// of an earlier parent of the same name.
func (p *parent) refersToParent(reference metav1.OwnerReference) bool {
	return p.owns(reference) || reference.Name == p.Name &&
		schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind).GroupKind() == p.parentType.GroupKind()
}

// own makes the parent the controller of a child that is about to be written. It completes an existing reference to
// the parent, and removes owners that cannot own the child.
func (p *parent) own(content map[string]any) {
	child := unstructured.Unstructured{Object: content}
	listed := child.GetOwnerReferences()
	owners := make([]metav1.OwnerReference, 0, len(listed)+1)
	hasParent := false
	for _, owner := range listed {
		switch {
		case p.refersToParent(owner):
			if !hasParent {
				owners, hasParent = append(owners, p.ownerReference()), true
			}
		case p.whyNotOwner(owner, child.GetNamespace()) == "":
			owners = append(owners, owner)
		}
	}
	if !hasParent {
		owners = append(owners, p.ownerReference())
	}
	child.SetOwnerReferences(owners)
}

// whyNotOwner returns why an owner that the hook lists cannot own a child in the namespace. It returns "" if nothing
// that is known prevents it.
func (p *parent) whyNotOwner(owner metav1.OwnerReference, namespace string) string {
	if ptr.Deref(owner.Controller, false) {
		return "the child has one controller, its parent"
	}
	if p.visible == nil {
		p.visible = newVisibleObjects(p.snapshot)
	}
	if at, isShown := p.visible.namespaces[owner.UID]; isShown && at != "" && at != namespace {
		return "it is in the namespace " + at
	}
	if p.visible.owners[owner.UID] {
		return "it owns the object that was copied"
	}
	return ""
}

// visibleObjects has facts about the objects in a hook's request, which the hook may have copied.
type visibleObjects struct {
	// namespaces has the namespace of each object.
	namespaces map[types.UID]string
	// owners has the owners of those related objects that the parent does not control.
	owners map[types.UID]bool
}

func newVisibleObjects(snapshot *pipeline.Snapshot) *visibleObjects {
	shown := &visibleObjects{namespaces: map[types.UID]string{}, owners: map[types.UID]bool{}}
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			shown.namespaces[child.UID] = child.Namespace
		}
	}
	for _, o := range snapshot.RelatedObjects() {
		shown.namespaces[o.UID] = o.Namespace
		if metav1.IsControlledBy(o, snapshot.Parent) {
			continue
		}
		for _, owner := range o.OwnerReferences {
			shown.owners[owner.UID] = true
		}
	}
	return shown
}

// warnOfOwners warns of owners of a desired child that the plan removes or changes.
func (p *parent) warnOfOwners(of object.Key, desired *object.Object) {
	for _, owner := range desired.OwnerReferences {
		wrong := ""
		if !p.refersToParent(owner) {
			if why := p.whyNotOwner(owner, of.Namespace); why != "" {
				wrong = fmt.Sprintf(
					"%s %s, which cannot own it, because %s: the server leaves it out", owner.Kind, owner.Name, why)
			}
		} else if !ptr.Deref(owner.Controller, true) {
			wrong = "the parent with controller: false: the server writes true, because a parent controls its children"
		}
		if wrong == "" {
			continue
		}
		about := of.GroupKind.String()
		isSame := func(known pipeline.Warning) bool {
			return known.Reason == v1alpha1.ReasonOwnerIgnored && known.About == about
		}
		if !slices.ContainsFunc(p.ownerWarnings, isSame) {
			message := fmt.Sprintf(
				"%s: metadata.ownerReferences names %s; leave metadata.ownerReferences out of the answer", of, wrong)
			warning := pipeline.Warning{Reason: v1alpha1.ReasonOwnerIgnored, About: about, Message: message}
			p.ownerWarnings = append(p.ownerWarnings, warning)
		}
	}
}

// leaveTerminating drops the steps that write the metadata or the status of a parent that is a terminating Namespace,
// and those that create an object in it: the host refuses such objects, and keeps its own status there. The step
// that removes the finalizer stays.
func (p *parent) leaveTerminating(plan *pipeline.Plan) {
	if p.DeletionTimestamp == nil || p.parentType.GroupKind() != (schema.GroupKind{Kind: "Namespace"}) {
		return
	}
	plan.Steps = slices.DeleteFunc(plan.Steps, func(step pipeline.Step) bool {
		switch {
		case step.Op == pipeline.Status, step.Op == pipeline.Metadata && !step.RemovesFinalizer:
			return true
		default:
			return step.Creates() && step.Namespace == p.Name
		}
	})
}
