// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package statichost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RoundTrip implements http.RoundTripper.
func (h *Host) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		defer func() { _ = request.Body.Close() }()
	}
	path := strings.TrimPrefix(request.URL.Path, "/")
	switch {
	case request.Method == http.MethodPost && strings.HasSuffix(path, "/subjectaccessreviews"):
		// Who has the objects may do everything.
		return respond(request, http.StatusCreated, &authorizationv1.SubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}})
	case request.Method != http.MethodGet:
		return refuse(request, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "nothing can be written here")
	case path == "openapi/v3":
		return respond(request, http.StatusOK, h.types.documents())
	case strings.HasPrefix(path, "openapi/v3/"):
		return respondRaw(request, http.StatusOK, bytes.NewReader(h.types.document)), nil
	}
	version, rest := versionIn(path)
	switch {
	case rest != nil:
		return h.serveObjects(request, version, rest)
	case version.Version == "":
		return h.serveGroup(request, version.Group)
	default:
		return h.serveVersion(request, version)
	}
}

// versionIn returns the version in a path, and what follows; nil if nothing does. The path of a group has no version.
func versionIn(path string) (version schema.GroupVersion, rest []string) {
	segments := strings.Split(path, "/")
	switch {
	case segments[0] == "api" && len(segments) > 1:
		version.Version, rest = segments[1], segments[2:]
	case segments[0] == "apis" && len(segments) > 2:
		version.Group, version.Version, rest = segments[1], segments[2], segments[3:]
	case segments[0] == "apis" && len(segments) > 1:
		version.Group = segments[1]
	}
	if len(rest) == 0 {
		rest = nil
	}
	return version, rest
}

// serveGroup answers which versions a group has.
func (h *Host) serveGroup(request *http.Request, group string) (*http.Response, error) {
	answer := &metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: group}
	for apiVersion := range h.types.catalog.Resources {
		if version, err := schema.ParseGroupVersion(apiVersion); err == nil && version.Group == group {
			answer.Versions = append(answer.Versions, metav1.GroupVersionForDiscovery{GroupVersion: apiVersion, Version: version.Version})
		}
	}
	if len(answer.Versions) == 0 {
		return refuse(request, http.StatusNotFound, metav1.StatusReasonNotFound, "there is no group "+group)
	}
	return respond(request, http.StatusOK, answer)
}

// serveVersion answers which types a version has.
func (h *Host) serveVersion(request *http.Request, version schema.GroupVersion) (*http.Response, error) {
	resources, known := h.types.catalog.Resources[version.String()]
	if !known {
		return refuse(request, http.StatusNotFound, metav1.StatusReasonNotFound, "there is no version "+version.String())
	}
	answer := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String()}
	for _, resource := range resources {
		served := metav1.APIResource{Name: resource.Name, Kind: resource.Kind, Namespaced: resource.Namespaced, Verbs: []string{"get", "list", "watch"}}
		answer.APIResources = append(answer.APIResources, served)
		if resource.Status {
			served.Name += "/status"
			answer.APIResources = append(answer.APIResources, served)
		}
	}
	return respond(request, http.StatusOK, answer)
}

// documents is the index of the OpenAPI documents. All versions have the same one.
func (t *Types) documents() any {
	paths := map[string]any{}
	for apiVersion := range t.catalog.Resources {
		path := "apis/" + apiVersion
		if !strings.Contains(apiVersion, "/") {
			path = "api/" + apiVersion
		}
		paths[path] = map[string]any{"serverRelativeURL": "/openapi/v3/" + path}
	}
	return map[string]any{"paths": paths}
}

func respond(request *http.Request, code int, answer any) (*http.Response, error) {
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return respondRaw(request, code, bytes.NewReader(raw)), nil
}

func respondRaw(request *http.Request, code int, body io.Reader) *http.Response {
	closer, ok := body.(io.ReadCloser)
	if !ok {
		closer = io.NopCloser(body)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: closer, ContentLength: -1, Request: request,
	}
}

func refuse(request *http.Request, code int32, reason metav1.StatusReason, message string) (*http.Response, error) {
	return respond(request, int(code), &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	})
}

// stream is a body that ends when its request does, or when it is closed.
type stream struct {
	*bytes.Reader
	done   <-chan struct{}
	closed chan struct{}
	close  sync.Once
}

func newStream(request *http.Request, content []byte) *stream {
	return &stream{Reader: bytes.NewReader(content), done: request.Context().Done(), closed: make(chan struct{})}
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	if s.Len() > 0 {
		return s.Reader.Read(p)
	}
	select {
	case <-s.done:
	case <-s.closed:
	}
	return 0, io.EOF
}

// WriteTo hides the one of the reader, which would not wait.
func (s *stream) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{s}) }

// Close implements io.Closer.
func (s *stream) Close() error {
	s.close.Do(func() { close(s.closed) })
	return nil
}
