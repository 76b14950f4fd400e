// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package object keeps an object of the host cluster as the JSON it arrived in, compressed if it is large.
//
// Beside the bytes stands only what decisions need: the metadata, parsed, and a
// hash of the content. Requests to hooks are put together from the bytes, and
// nothing is decoded that nobody looks at.
package object

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// LastAppliedAnnotation holds, on a child managed by dynamic apply, the JSON of
// what the hook wanted when the child was last written.
const LastAppliedAnnotation = "metacontroller.k8s.io/last-applied-configuration"

// DecoratorAnnotation names, on an attachment, the DecoratorController that it belongs to.
// It is stored in users' clusters.
const DecoratorAnnotation = "metacontroller.k8s.io/decorator-controller"

// kubectlLastAppliedAnnotation is kubectl's counterpart of LastAppliedAnnotation.
const kubectlLastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// Object is one object, immutable once parsed: caches, snapshots and plans share it.
//
// The embedded ObjectMeta leaves out managedFields and the two annotations that
// repeat a whole object (LastAppliedAnnotation and kubectl's); all other
// annotations are there.
type Object struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// json is the object without metadata.managedFields. If it is compressed, size is how many bytes it takes when it is not; else 0.
	json []byte
	size int32
	// hasLastApplied tells that there is a LastAppliedAnnotation.
	hasLastApplied bool

	// Others are the fields beside metadata and status that others than FieldManager's
	// updates have set or changed last, as a JSON list of sets in the form fieldsV1 of
	// managedFields. It is there of an object that has a LastAppliedAnnotation and that
	// FieldManager has written; of any other it is empty, and nothing is known.
	Others string

	// Applied are the fields that the process owns by server-side apply, in the form
	// fieldsV1 of managedFields: all that is kept of these. It is nil if there are none.
	Applied []byte

	// Shared tells that FieldManager's updates own some of Applied too, so that they
	// would not go when they are applied no longer.
	Shared bool

	// Hash identifies the content: two objects with equal Hash differ at most in
	// status and in metadata's resourceVersion, generation and managedFields.
	Hash uint64
}

var (
	_ runtime.Object = (*Object)(nil)
	_ metav1.Object  = (*Object)(nil)
)

// DeepCopyObject returns the object itself, which nobody may change.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// MarshalJSON returns what JSON returns.
func (o *Object) MarshalJSON() ([]byte, error) { return o.JSON(), nil }

// Key is the object's namespace and name.
func (o *Object) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
}

// Decode returns the object as generic maps that belong to the caller. Whole
// numbers become int64, others float64.
func (o *Object) Decode() (map[string]any, error) {
	var content map[string]any
	if err := utiljson.Unmarshal(o.JSON(), &content); err != nil {
		return nil, fmt.Errorf("decode %s: %w", o, err)
	}
	return content, nil
}

// Annotation returns the value of an annotation and whether there is one, also of those that
// Annotations leaves out.
func (o *Object) Annotation(name string) (value string, there bool) {
	value, there = o.Annotations[name]
	if there || !repeatsObject(name) {
		return value, there
	}
	raw := o.Lookup("metadata", "annotations", name)
	there = raw != nil && json.Unmarshal(raw, &value) == nil
	return value, there
}

// repeatsObject tells whether an annotation of that name repeats a whole object.
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

// Canonical is the JSON form that is stored in annotations and hashed in
// revisions: keys sorted bytewise, no white space, HTML characters escaped.
func Canonical(content map[string]any) ([]byte, error) { return json.Marshal(content) }
