// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// request appends the body of a sync or finalize request, which it puts together from the
// bytes of the objects.
func (p protocol) request(to []byte, version v1alpha1.HookVersion, snapshot *pipeline.Snapshot) []byte {
	w := requestWriter{
		body:   slices.Grow(to, requestSize(snapshot)),
		keys:   keysOf(version),
		parent: snapshot.Parent,
	}
	w.raw(`{"controller":`)
	w.body = append(w.body, snapshot.Controller...)
	w.raw(`,"`)
	w.raw(p.parent)
	w.raw(`":`)
	w.body = snapshot.Parent.AppendJSON(w.body)
	w.raw(`,"`)
	w.raw(p.children)
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
	w.raw(`}`)
	return w.body
}

// requestSize is how many bytes a request takes at most, unless there are characters in
// names that JSON escapes.
func requestSize(snapshot *pipeline.Snapshot) int {
	size := 128 + len(snapshot.Controller) + snapshot.Parent.Size()
	for _, group := range snapshot.Children {
		size += groupSize(group.Type, group.Claimed)
	}
	for _, group := range snapshot.Related {
		size += groupSize(group.Type, group.Objects)
	}
	return size
}

func groupSize(of pipeline.Type, objects []*object.Object) int {
	size := 16 + len(of.Kind) + len(of.Group) + len(of.Version)
	for _, o := range objects {
		size += 8 + len(o.Namespace) + len(o.Name) + o.Size()
	}
	return size
}

// requestWriter appends to the body of a request.
type requestWriter struct {
	body   []byte
	keys   keys
	parent *object.Object
}

func (w *requestWriter) raw(text string) { w.body = append(w.body, text...) }

// group appends the objects of one type by their keys. It is there also if none are.
func (w *requestWriter) group(index int, of pipeline.Type, objects []*object.Object) {
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

// key appends the key of an object. Names of some types, ClusterRoles among them, may
// hold quotes; namespaces hold nothing that is special.
func (w *requestWriter) key(form keyForm, o *object.Object) {
	start := len(w.body)
	if form == namespaceAndName {
		w.raw(`"`)
		w.raw(o.Namespace)
		w.raw(`/`)
		start = len(w.body)
	}
	// An error says that it mended what is no UTF-8.
	w.body, _ = jsontext.AppendQuote(w.body, o.Name)
	if form == namespaceAndName {
		w.body = append(w.body[:start], w.body[start+1:]...) // the quote that opens the name
	}
}
