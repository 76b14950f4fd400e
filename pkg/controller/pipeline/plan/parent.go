// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// parent is the parent of a sync, with what all decisions about its children need.
type parent struct {
	*object.Object
	snapshot   *pipeline.Snapshot
	parentType object.Type
	// schema is how the host describes the parent; nil if it does not. schemasVersion changes with it
	// and with those of the children.
	schema         *openapi.Type
	schemasVersion uint64
	selector       labels.Selector
	// generatedLabels are put on desired children that lack them.
	generatedLabels map[string]string
	// generatedAnnotations are put on all children that are written.
	generatedAnnotations map[string]string
	// foreignStatus is true if the status has another writer.
	foreignStatus bool
	// rulesField is the field of the controller that declares the types of the children.
	rulesField string
	// unknown are the fields that are desired and that the host does not know.
	unknown fieldWarnings
	// warned are what the host warned of when it was written.
	warned hostWarnings
	// outdated are the warnings about children that OnDelete leaves as they are.
	outdated []pipeline.Warning
	// shown is what the hook may have copied; nil until it is needed.
	shown *shownObjects
	// ofOwners are the warnings about the owners that the hook lists.
	ofOwners []pipeline.Warning
	// kept are the warnings about children that are not desired and not deleted.
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

// warn adds the warnings about what is desired to the plan.
func (p *parent) warn(plan *pipeline.Plan, upToDate *UpToDateCache, duplicates []string, desired []*object.Object) {
	plan.Warnings = append(p.unknown.warnings(), duplicateWarnings(duplicates)...)
	plan.Warnings = append(plan.Warnings, p.warned.warnings()...)
	plan.Warnings = append(append(plan.Warnings, p.kept...), p.ofOwners...)
	if plan.Warnings == nil {
		plan.Warnings = p.outdated
	} else {
		plan.Warnings = append(plan.Warnings, p.outdated...)
	}
	upToDate.unknown.prune(p.schemasVersion, desired)
	upToDate.hostWarnings = keepDesired(upToDate.hostWarnings, upToDate.unknown.status, desired)
}

// checkLabels refuses the whole answer if the selector does not match one of the desired children:
// later syncs would not find it.
func (p *parent) checkLabels(desired []*object.Object) error {
	labels := &completedLabels{generated: p.generatedLabels}
	for _, child := range desired {
		labels.own = child.Labels
		if !p.selector.Matches(labels) {
			return fmt.Errorf("labels on desired child %s %s/%s don't match parent selector %q: "+
				"no child and no status was written; give the child labels that match, or set the controller's spec.generateSelector",
				child.Kind, p.namespaceOf(child), child.Name, p.selector)
		}
	}
	return nil
}

// content returns what the hook wants of a child, completed with the namespace and the generated
// labels and annotations. This is what is stored as last applied.
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
	// A hook may have copied the annotation from an attachment. With it, the child would not
	// count as the parent's.
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

// namespaceOf returns the namespace that a desired child will be in. It is the parent's namespace
// if the child names none.
func (p *parent) namespaceOf(child *object.Object) string {
	if child.Namespace == "" {
		return p.Namespace
	}
	return child.Namespace
}

// labelsOf returns the labels that a desired child will have.
func (p *parent) labelsOf(child *object.Object) labels.Set {
	if len(p.generatedLabels) == 0 {
		return child.Labels
	}
	return labels.Merge(p.generatedLabels, child.Labels)
}

// completedLabels are what labelsOf returns, without a copy. It implements labels.Labels.
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
