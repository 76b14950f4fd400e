// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package unreadable

import (
	"bytes"
	"io"
	"net/http"
	"reflect"
	"slices"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// kind is a kind of objects that can be written.
type kind struct {
	name string
	of   reflect.Type
}

// kinds returns the kinds by the names of their resources.
func kinds() map[string]kind {
	return map[string]kind{
		"compositecontrollers": {"CompositeController", reflect.TypeFor[v1alpha1.CompositeController]()},
		"decoratorcontrollers": {"DecoratorController", reflect.TypeFor[v1alpha1.DecoratorController]()},
		"controllerrevisions":  {"ControllerRevision", reflect.TypeFor[v1alpha1.ControllerRevision]()},
		"syncreviews":          {"SyncReview", reflect.TypeFor[v1alpha1.SyncReview]()},
	}
}

// Explain returns a handler that answers as the given one does, except about objects that it cannot
// read: then the answer has a sentence for each field that is wrong. The context of a request must
// have its RequestInfo.
func Explain(handler http.Handler) http.Handler {
	known := kinds()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, found := request.RequestInfoFrom(r.Context())
		if !found || info.APIGroup != metacontroller.GroupName || !slices.Contains([]string{"create", "update", "patch"}, info.Verb) {
			handler.ServeHTTP(w, r)
			return
		}
		written, isKnown := known[info.Resource]
		if !isKnown {
			handler.ServeHTTP(w, r)
			return
		}
		refused := refusal{kind: written, name: info.Name, isPatch: info.Verb == "patch", contentType: r.Header.Get("Content-Type")}
		// The handler limits how much of the body it reads.
		copied := r.WithContext(r.Context())
		copied.Body = readerOf{io.TeeReader(r.Body, &refused.body), r.Body}
		held := &heldResponse{ResponseWriter: w}
		handler.ServeHTTP(responsewriter.WrapForHTTP1Or2(held), copied)
		held.release(refused.explain)
	})
}

// readerOf closes the original of what it reads.
type readerOf struct {
	io.Reader
	io.Closer
}

// heldResponse holds back the responses that may be about an object that cannot be read. The others
// pass as they come.
type heldResponse struct {
	http.ResponseWriter
	// code is the status of the response that is held back; zero if none is.
	code    int
	isBegun bool
	body    bytes.Buffer
}

var _ responsewriter.UserProvidedDecorator = &heldResponse{}

// Unwrap returns the writer that the response goes to.
func (h *heldResponse) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// WriteHeader begins a response.
func (h *heldResponse) WriteHeader(code int) {
	mayExplain := code == http.StatusBadRequest || code == http.StatusUnprocessableEntity || code == http.StatusInternalServerError
	if !h.isBegun && mayExplain && h.Header().Get("Content-Type") == "application/json" && h.Header().Get("Content-Encoding") == "" {
		h.code = code
		return
	}
	h.isBegun = true
	h.ResponseWriter.WriteHeader(code)
}

// Write writes a part of the body.
func (h *heldResponse) Write(part []byte) (int, error) {
	if h.code != 0 {
		return h.body.Write(part)
	}
	h.isBegun = true
	return h.ResponseWriter.Write(part)
}

// release writes the response that was held back, if any. explain returns the status and the body
// to write in place of its own.
func (h *heldResponse) release(explain func(code int, body []byte) (int, []byte)) {
	if h.code == 0 {
		return
	}
	code, body := explain(h.code, h.body.Bytes())
	h.Header().Del("Content-Length")
	h.ResponseWriter.WriteHeader(code)
	_, _ = h.ResponseWriter.Write(body) // the client is gone if that fails
}
