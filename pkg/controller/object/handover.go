// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// GeneratedLabel is the label that generated selectors match. Its value is the UID of the parent. It is stored in
// users' clusters.
const GeneratedLabel = "controller-uid"

// Claimant is a parent that wants to have an object as a child, with the criteria by which its controller finds
// children.
type Claimant struct {
	Parent *Object
	// Selector selects the children of the parent. For a DecoratorController, it selects everything.
	Selector labels.Selector
	// Decorator is the name of the DecoratorController; empty for a CompositeController.
	Decorator string
}

// Handover has the changes that make an object a child.
type Handover struct {
	// Labels are the labels to set.
	Labels map[string]string
	// Annotates is true if DecoratorAnnotation must become Decorator; an empty Decorator removes the annotation.
	Annotates bool
	Decorator string
	// Owns is true if the parent must be made the controller of the object. The parent of a CompositeController
	// adopts the object by itself.
	Owns bool
}

// Has reports whether an object is a child.
func (c Claimant) Has(of *Object) bool {
	owner, decorator := metav1.GetControllerOfNoCopy(of), of.Annotations[DecoratorAnnotation]
	isOwn := owner != nil && owner.UID == c.Parent.UID && decorator == c.Decorator
	return isOwn && c.Selector.Matches(labels.Set(of.Labels))
}

// IsMarked reports whether an object has any sign that a controller made it.
func IsMarked(of *Object) bool {
	_, isLabelled := of.Labels[GeneratedLabel]
	_, isAttachment := of.Annotations[DecoratorAnnotation]
	return isLabelled || isAttachment || of.HasLastApplied() || of.Applied != nil ||
		metav1.GetControllerOfNoCopy(of) != nil
}

// Handover returns the changes that make an object a child. It returns nil if another object controls it, if it
// is being deleted, or if no change of labels and annotations can make it a child.
func (c Claimant) Handover(of *Object) *Handover {
	owner := metav1.GetControllerOfNoCopy(of)
	if of.DeletionTimestamp != nil || owner != nil && owner.UID != c.Parent.UID {
		return nil
	}
	has, annotated := of.Annotations[DecoratorAnnotation]
	change := &Handover{Labels: map[string]string{}, Decorator: c.Decorator, Owns: owner == nil && c.Decorator != ""}
	change.Annotates = has != c.Decorator || annotated && c.Decorator == ""
	requirements, _ := c.Selector.Requirements()
	for _, requirement := range requirements {
		values := requirement.Values().UnsortedList()
		if len(values) == 1 && !requirement.Matches(labels.Set(of.Labels)) {
			change.Labels[requirement.Key()] = values[0]
		}
	}
	after := labels.Merge(of.Labels, change.Labels)
	if !c.Selector.Matches(after) || len(change.Labels) == 0 && !change.Annotates && !change.Owns {
		return nil
	}
	return change
}

// Whose returns the owner that an object names, such as "of StatefulSet db".
func (c Claimant) Whose(of *Object) string {
	owner, decorator := metav1.GetControllerOfNoCopy(of), of.Annotations[DecoratorAnnotation]
	var said string
	switch {
	case owner == nil:
		said = "of no controller"
	case owner.UID == c.Parent.UID:
		said = "of this object"
	default:
		said = fmt.Sprintf("of %s %s", owner.Kind, owner.Name)
	}
	switch uid := of.Labels[GeneratedLabel]; {
	case decorator != "":
		said += ", created by DecoratorController " + decorator
	case owner != nil && owner.UID == c.Parent.UID && c.Decorator != "":
		said += ", created by a CompositeController"
	case owner == nil && uid != "" && types.UID(uid) != c.Parent.UID:
		said += "; its label " + GeneratedLabel + " is the UID of another parent, such as a former one"
	}
	if of.DeletionTimestamp != nil {
		said += "; it is being deleted"
	}
	return said
}

// Commands returns the kubectl commands that make the changes to objects in a namespace, which are in the form
// TYPE/NAME. It returns none if the owner has to change, because kubectl has no command for that.
func (h *Handover) Commands(namespace string, objects ...string) (commands []string) {
	if h.Owns {
		return nil
	}
	kubectl := "kubectl "
	if namespace != "" {
		kubectl += "-n " + namespace + " "
	}
	named := strings.Join(objects, " ")
	if len(h.Labels) > 0 {
		command := kubectl + "label --overwrite " + named
		for _, name := range slices.Sorted(maps.Keys(h.Labels)) {
			command += " " + name + "=" + h.Labels[name]
		}
		commands = append(commands, command)
	}
	switch {
	case h.Annotates && h.Decorator == "":
		commands = append(commands, kubectl+"annotate "+named+" "+DecoratorAnnotation+"-")
	case h.Annotates:
		commands = append(commands, kubectl+"annotate --overwrite "+named+" "+DecoratorAnnotation+"="+h.Decorator)
	}
	return commands
}

// Argument returns the kubectl argument for an object: TYPE/NAME.
func Argument(of schema.GroupResource, name string) string { return of.String() + "/" + name }
