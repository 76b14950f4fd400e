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

// AppendRequest appends the body of a sync or finalize request. It copies the bytes of the objects
// and decodes none. The body has the fields of Metacontroller's requests and no others, because hooks
// may refuse fields that they do not know.
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

// RequestSize returns the maximal size of a request in bytes. Only names with characters that JSON
// escapes can make it larger.
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

// key appends the key of an object. Names of some types, for instance ClusterRoles, can contain
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
