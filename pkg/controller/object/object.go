// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"encoding/json"
	"fmt"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// LastAppliedAnnotation has, on a child of dynamic apply, the JSON of what the hook wanted when the child was
// last written.
const LastAppliedAnnotation = "metacontroller.k8s.io/last-applied-configuration"

// DecoratorAnnotation names, on an attachment, the DecoratorController that it belongs to. It is
// stored in users' clusters.
const DecoratorAnnotation = "metacontroller.k8s.io/decorator-controller"

// kubectlLastAppliedAnnotation is kubectl's counterpart of LastAppliedAnnotation.
const kubectlLastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// Object is one object. It is immutable once parsed: caches, snapshots and plans share it.
//
// The embedded ObjectMeta leaves out managedFields and the two annotations that repeat an entire object,
// LastAppliedAnnotation and kubectl's. All other annotations are there.
type Object struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// json is the object without metadata.managedFields. If it is compressed, size is its uncompressed length in bytes;
	// otherwise 0.
	json []byte
	size int32
	// hasLastApplied is true if the object has a LastAppliedAnnotation.
	hasLastApplied bool

	// Owners has the fields outside metadata and status by who has set or changed them last, as a JSON object: ours
	// are the fields that updates of FieldManager have set, others the fields of everybody else. Both are lists of
	// sets in the form of fieldsV1. A field in neither has no owner. Owners is empty, which means that nothing is
	// known, unless the object has a LastAppliedAnnotation and FieldManager has written it.
	Owners string

	// Applied has the fields that the process owns by server-side apply, in the form of fieldsV1; nil if there are none.
	// Nothing is kept of managedFields except Applied and Owners.
	Applied []byte

	// Shared is true if updates of FieldManager own some of Applied, too. The host does not remove those when they
	// are no longer applied.
	Shared bool

	// Hash identifies the content: two objects with equal Hash differ at most in status and
	// in metadata's resourceVersion, generation and managedFields.
	Hash uint64
}

var (
	_ runtime.Object = (*Object)(nil)
	_ metav1.Object  = (*Object)(nil)
)

// DeepCopyObject returns the object itself, because it is immutable.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// MarshalJSON returns the result of JSON.
func (o *Object) MarshalJSON() ([]byte, error) { return o.JSON(), nil }

// Key returns the object's namespace and name.
func (o *Object) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
}

// Decode returns the object as generic maps that belong to the caller. Whole numbers become int64,
// others float64.
func (o *Object) Decode() (map[string]any, error) {
	var content map[string]any
	if err := utiljson.Unmarshal(o.JSON(), &content); err != nil {
		return nil, fmt.Errorf("decode %s: %w", o, err)
	}
	return content, nil
}

// Annotation returns the value of an annotation and whether there is one. It also finds the
// annotations that the field Annotations leaves out.
func (o *Object) Annotation(name string) (value string, there bool) {
	value, there = o.Annotations[name]
	if there || !repeatsObject(name) {
		return value, there
	}
	raw := o.Lookup("metadata", "annotations", name)
	there = raw != nil && json.Unmarshal(raw, &value) == nil
	return value, there
}

// HasLastApplied reports whether the object has LastAppliedAnnotation, even if it is empty.
func (o *Object) HasLastApplied() bool { return o.hasLastApplied }

// repeatsObject reports whether an annotation of that name repeats an entire object.
func repeatsObject(name string) bool {
	return name == LastAppliedAnnotation || name == kubectlLastAppliedAnnotation
}

// String names the object as messages do: "Pod default/web", "Namespace web".
func (o *Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Canonical returns the JSON form for annotations and for the hashes of revisions: keys sorted bytewise, no
// white space, HTML characters escaped.
func Canonical(content map[string]any) ([]byte, error) { return json.Marshal(content) }

// ContentHash returns the hash of the object without its metadata and status. The generation cannot replace it:
// some types have none, and the generation of a Deployment increases when its annotations change.
func (o *Object) ContentHash() uint64 {
	content := o.JSON()
	for _, written := range []string{"metadata", "status"} {
		if without, err := WithMember(content, written, nil); err == nil {
			content = without
		}
	}
	return xxhash.Sum64(content)
}

// IsRemoved reports whether the host removes an object in this form because its last finalizer is gone.
func (o *Object) IsRemoved() bool {
	grace := o.DeletionGracePeriodSeconds
	return o.DeletionTimestamp != nil && len(o.Finalizers) == 0 && (grace == nil || *grace == 0)
}
