// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// A parent may control objects that its controller did not make: those that it has adopted, and those that
// others have made with the parent as their controller, such as the Pods of a Job that is a parent. They are
// not deleted as long as no answer has named them. What the controller has created, or changed to what an
// answer wants, shows that: by the record of dynamic apply, or by fields that server-side apply owns. An
// adoption changes the owners alone.

// isKnown reports whether the controller has created a child, or an answer of its hook has named it.
func isKnown(child *object.Object) bool {
	if child.Applied != nil {
		return true
	}
	text, _ := child.Annotation(object.LastAppliedAnnotation)
	return isRecordOf(child, text)
}

// isRecordOf reports whether the text of LastAppliedAnnotation is about the child. Controllers copy the annotations of
// their objects to others, as Deployments do to ReplicaSets, and so do users.
func isRecordOf(child *object.Object, text string) bool {
	var record *struct {
		Kind     string
		Metadata struct{ Namespace, Name string }
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil || record == nil {
		return false
	}
	isSame := func(recorded, value string) bool {
		return recorded == "" || recorded == value || recorded == digestOf(value)
	}
	return isSame(record.Kind, child.Kind) && isSame(record.Metadata.Name, child.Name) &&
		isSame(record.Metadata.Namespace, child.Namespace)
}

// HideKept hides from a finalize hook the children that the plan does not delete because no answer named them. A hook
// that waits for the end of all children would never finish.
func HideKept(snapshot *pipeline.Snapshot) {
	if !snapshot.Finalizing || !snapshot.Managed {
		return
	}
	for i := range snapshot.Children {
		group := &snapshot.Children[i]
		group.Claimed = slices.DeleteFunc(group.Claimed, func(child *object.Object) bool {
			isKept := child.DeletionTimestamp == nil && !isKnown(child)
			if isKept {
				group.Kept = append(group.Kept, child)
			}
			return isKept
		})
	}
}

const whyNamed = "the hook lists it, so that it is deleted when the hook no longer does"

// name records on a child that an answer has named it: that what identifies it was applied, and nothing else.
func (d dynamicApply) name(observed *object.Object) (pipeline.Step, error) {
	body, err := object.Canonical(identityOf(observed))
	return pipeline.Step{Op: pipeline.ToDynamicApply, Observed: observed, Body: body, Why: whyNamed}, err
}

// name records on a child that an answer has named it: the reference to the parent is applied, and nothing else.
func (s serverSideApply) name(observed *object.Object) (pipeline.Step, error) {
	configuration := identityOf(observed)
	s.own(configuration)
	body, err := withMetadata(configuration, "uid", string(observed.UID))
	return pipeline.Step{Op: pipeline.Apply, Observed: observed, Body: body, Why: whyNamed}, err
}

// identityOf returns what identifies a child.
func identityOf(child *object.Object) map[string]any {
	metadata := map[string]any{"name": child.Name}
	if child.Namespace != "" {
		metadata["namespace"] = child.Namespace
	}
	return map[string]any{"apiVersion": child.APIVersion, "kind": child.Kind, "metadata": metadata}
}

// keptChildren are the children of one type that no answer has named, and that are not deleted although the last answer
// does not name them either.
type keptChildren struct {
	objects warnedObjects
	number  int
}

func (k *keptChildren) add(of object.Type, child *object.Object) {
	if k.number++; k.number == 1 {
		k.objects = newWarnedObjects(object.Key{GroupKind: of.GroupKind(), NamespacedName: child.Key()})
		return
	}
	k.objects.more++
}

// warning says which children are kept, and how they are deleted or released.
func (k *keptChildren) warning() pipeline.Warning {
	return pipeline.Warning{Reason: pipeline.ChildKept, About: k.objects.kind.String(), Message: fmt.Sprintf(
		"%s: the parent controls it, and the hook does not list it and never has, so it may belong to others: it is kept; "+
			"to have it deleted, list it in an answer and leave it out afterwards; to have it released, "+
			"change its labels so that the parent's selector does not match them", k.objects)}
}
