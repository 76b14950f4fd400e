// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

const (
	decoratorAnnotation = "metacontroller.k8s.io/decorator-controller"
	ourFinalizer        = "metacontroller.io/decoratorcontroller-deco"
)

// newTarget makes a world whose parent is the target of a decorator.
func newTarget(t testing.TB, target string, attachments ...object.Type) *world {
	w := newWorld(t, target, attachments...)
	w.decorates = true
	return w
}

// withSubresource makes the status of the target one that is written by itself.
func (w *world) withSubresource(has bool) *world {
	w.parentType.StatusSubresource = has
	return w
}

// ofTarget is what observe sees of a target: it is finalized when it has the decorator's
// finalizer and is being deleted or says that it opts out.
func (w *world) ofTarget(snapshot *pipeline.Snapshot) *pipeline.Snapshot {
	deleting := w.parent.DeletionTimestamp != nil
	held := slices.Contains(w.parent.Finalizers, ourFinalizer)
	snapshot.Selector = nil
	snapshot.GeneratedAnnotations = map[string]string{decoratorAnnotation: "deco"}
	snapshot.Finalizer, snapshot.NeedsFinalizer = ourFinalizer, held
	snapshot.Finalizing = held && (deleting || w.parent.Labels["out"] != "")
	snapshot.Managed = !deleting || held
	for of, children := range w.children {
		group := pipeline.Group{Type: of, Schema: w.schemas[of]}
		for _, child := range children {
			controller := metav1.GetControllerOfNoCopy(child)
			if controller != nil && controller.UID == w.parent.UID && child.Annotations[decoratorAnnotation] == "deco" {
				group.Claimed = append(group.Claimed, child)
				if controller.APIVersion != w.parentType.GroupVersion().String() {
					group.Adopt = append(group.Adopt, child)
				}
			}
		}
		snapshot.Children = append(snapshot.Children, group)
	}
	slices.SortFunc(snapshot.Children, func(a, b pipeline.Group) int { return -cmp.Compare(a.Type.String(), b.Type.String()) })
	return snapshot
}

// changes are labels or annotations in a hook's answer, in turns a key and a value; the
// value - takes the key away.
func changes(keysAndValues ...string) map[string]*string {
	made := map[string]*string{}
	for pair := range slices.Chunk(keysAndValues, 2) {
		made[pair[0]] = nil
		if pair[1] != "-" {
			made[pair[0]] = ptr.To(pair[1])
		}
	}
	return made
}
