// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// AppendRequest appends the body of a sync or finalize request. It copies the bytes of the objects without decoding
// them. The body has only the fields of Metacontroller's requests, because hooks may refuse fields that they do not
// know.
func (f Format) AppendRequest(to []byte, version v1alpha1.HookVersion, snapshot *pipeline.Snapshot) []byte {
	w := requestWriter{
		body:   slices.Grow(to, RequestSize(snapshot)),
		keys:   keysOf(version),
		parent: snapshot.Parent,
	}
	w.raw(`{"controller":`)
	w.body = append(w.body, snapshot.Controller...)
	w.raw(`,"`)
	w.raw(f.parent)
	w.raw(`":`)
	w.body = snapshot.Parent.AppendJSON(w.body)
	w.raw(`,"`)
	w.raw(f.children)
	w.raw(`":{`)
	for i, group := range snapshot.Children {
		w.group(i, group.Type, group.Claimed)
	}
	w.raw(`},"related":{`)
	for i, group := range snapshot.Related {
		w.group(i, group.Type, group.Objects)
	}
	w.raw(`},"finalizing":`)
	w.body = strconv.AppendBool(w.body, snapshot.Finalizing)
	return append(w.body, '}')
}

// RequestSize returns the maximum size of a request in bytes. Only names with characters that JSON escapes can exceed
// it.
func RequestSize(snapshot *pipeline.Snapshot) int {
	size := 128 + len(snapshot.Controller) + snapshot.Parent.Size()
	for _, group := range snapshot.Children {
		size += groupSize(group.Type, group.Claimed)
	}
	for _, group := range snapshot.Related {
		size += groupSize(group.Type, group.Objects)
	}
	return size
}

func groupSize(of object.Type, objects []*object.Object) int {
	size := 16 + len(of.Kind) + len(of.Group) + len(of.Version)
	for _, o := range objects {
		size += 8 + len(o.Namespace) + len(o.Name) + o.Size()
	}
	return size
}

// CustomizeRequestSize returns the approximate size of a customize request in bytes.
func CustomizeRequestSize(snapshot *pipeline.Snapshot) int {
	return 64 + len(snapshot.Controller) + snapshot.Parent.Size()
}

// AppendCustomizeRequest appends the body of a customize request. It is the same in all versions.
func AppendCustomizeRequest(to []byte, snapshot *pipeline.Snapshot) []byte {
	body := slices.Grow(to, CustomizeRequestSize(snapshot))
	body = append(body, `{"controller":`...)
	body = append(body, snapshot.Controller...)
	body = append(body, `,"parent":`...)
	body = snapshot.Parent.AppendJSON(body)
	return append(body, '}')
}

// requestWriter appends to the body of a request.
type requestWriter struct {
	body   []byte
	keys   keyFunc
	parent *object.Object
}

func (w *requestWriter) raw(text string) { w.body = append(w.body, text...) }

// group appends the objects of one type, each under its key. A type without objects gets an empty
// group.
func (w *requestWriter) group(index int, of object.Type, objects []*object.Object) {
	if index > 0 {
		w.raw(`,`)
	}
	w.raw(`"`)
	w.raw(of.Kind)
	w.raw(`.`)
	if of.Group != "" {
		w.raw(of.Group)
		w.raw(`/`)
	}
	w.raw(of.Version)
	w.raw(`":{`)
	first := true
	for _, o := range objects {
		form := w.keys(w.parent, o)
		if form == noKey {
			continue
		}
		if !first {
			w.raw(`,`)
		}
		first = false
		w.key(form, o)
		w.raw(`:`)
		w.body = o.AppendJSON(w.body)
	}
	w.raw(`}`)
}

// key appends the key of an object. Names of some types, for example ClusterRoles, can contain
// quotes. Namespaces contain no characters that JSON escapes.
func (w *requestWriter) key(form keyForm, o *object.Object) {
	start := len(w.body)
	if form == namespaceAndName {
		w.raw(`"`)
		w.raw(o.Namespace)
		w.raw(`/`)
		start = len(w.body)
	}
	// The error only reports that invalid UTF-8 was replaced.
	w.body, _ = jsontext.AppendQuote(w.body, o.Name)
	if form == namespaceAndName {
		w.body = append(w.body[:start], w.body[start+1:]...) // without the quote that opens the name
	}
}

// Format is how the requests and answers of sync and finalize hooks differ between the kinds of controllers.
type Format struct {
	// parent and children are the names of these fields.
	parent, children string
	// metadata allows answers to change the labels and annotations of the parent.
	metadata bool
}

var (
	composite = Format{parent: "parent", children: "children"}
	decorator = Format{parent: "object", children: "attachments", metadata: true}
)

// Composite is the format of a CompositeController.
func Composite() Format { return composite }

// Decorator is the format of a DecoratorController.
func Decorator() Format { return decorator }

// ChildrenField returns the name of the field of an answer that lists the children.
func (f Format) ChildrenField() string { return f.children }

// keyForm is the form of the keys of objects in a request.
type keyForm int

const (
	// noKey leaves the object out of the request.
	noKey keyForm = iota
	nameOnly
	namespaceAndName
)

// keyFunc returns the form of the key of an object in a request about a parent.
type keyFunc func(parent, o *object.Object) keyForm

func keysOf(version v1alpha1.HookVersion) keyFunc {
	if version == v1alpha1.HookVersionV2 {
		return absoluteKeys
	}
	return relativeKeys
}

// relativeKeys are the keys of version v1. A request about a namespaced parent shows only objects
// in its namespace.
func relativeKeys(parent, o *object.Object) keyForm {
	switch parent.Namespace {
	case "":
		return absoluteKeys(parent, o)
	case o.Namespace:
		return nameOnly
	default:
		return noKey
	}
}

// absoluteKeys are the keys of version v2.
func absoluteKeys(_, o *object.Object) keyForm {
	if o.Namespace == "" {
		return nameOnly
	}
	return namespaceAndName
}
