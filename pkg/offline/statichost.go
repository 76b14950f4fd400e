// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// staticHost simulates a cluster with objects that never change. It answers requests within the process: for discovery,
// schemas, objects, lists, and watches without changes. It refuses all writes. It implements http.RoundTripper.
type staticHost struct {
	types *Types
	// objects has the objects of each resource, ordered by namespace and name.
	objects map[schema.GroupResource][]*unstructured.Unstructured
}

// newStaticHost returns a host with objects, which Types.Complete must have completed, and with the
// CustomResourceDefinitions of its types. Names must be unique, but an object may replace a definition.
func newStaticHost(types *Types, objects []*unstructured.Unstructured) (*staticHost, error) {
	h := &staticHost{types: types, objects: map[schema.GroupResource][]*unstructured.Unstructured{}}
	definitions := slices.DeleteFunc(slices.Clone(types.definitions), func(definition *unstructured.Unstructured) bool {
		return slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
			return object.GetUID() == definition.GetUID()
		})
	})
	for _, object := range slices.Concat(definitions, objects) {
		of, err := types.Of(object.GroupVersionKind())
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), path(object), err)
		}
		h.objects[of.GroupResource()] = append(h.objects[of.GroupResource()], object)
	}
	for _, all := range h.objects {
		slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return strings.Compare(path(a), path(b)) })
		for i := range all[1:] {
			if path(all[i]) == path(all[i+1]) {
				return nil, fmt.Errorf("the object %s %s exists twice", all[i].GetKind(), path(all[i]))
			}
		}
	}
	return h, nil
}

// config returns the configuration of clients of the host.
func (h *staticHost) config() *rest.Config {
	return &rest.Config{Host: "http://static.invalid", Transport: h, QPS: -1}
}

// serveObjects serves requests for objects: one, a list, or a watch.
func (h *staticHost) serveObjects(request *http.Request, version schema.GroupVersion,
	rest []string) (*http.Response, error) {
	namespace := ""
	if rest[0] == "namespaces" && len(rest) > 2 {
		namespace, rest = rest[1], rest[2:]
	}
	of := h.types.named(version, rest[0])
	if of == nil || len(rest) > 2 {
		return refuse(request, http.StatusNotFound, metav1.StatusReasonNotFound,
			"the server could not find the requested resource")
	}
	objects, err := h.selected(of, namespace, request)
	if err != nil {
		return refuse(request, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	if len(rest) == 2 {
		for _, object := range objects {
			if object.GetName() == rest[1] {
				return respond(request, http.StatusOK, object.Object)
			}
		}
		return refuse(request, http.StatusNotFound, metav1.StatusReasonNotFound,
			fmt.Sprintf("%s %q not found", of.GroupResource(), rest[1]))
	}
	items, kind := make([]any, len(objects)), of.Kind+"List"
	for i, object := range objects {
		items[i] = object.Object
	}
	apiVersion := version.String()
	if wantsMetadata(request) {
		apiVersion, kind = "meta.k8s.io/v1", "PartialObjectMetadataList"
		for i, object := range objects {
			items[i] = map[string]any{"apiVersion": apiVersion, "kind": "PartialObjectMetadata",
				"metadata": object.Object["metadata"]}
		}
	}
	if request.URL.Query().Get("watch") == "true" {
		return watch(request, of, items)
	}
	return respond(request, http.StatusOK, map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"resourceVersion": resourceVersion},
		"items": items,
	})
}

// selected returns the objects of a type that a request asks for, in its version.
func (h *staticHost) selected(of *Type, namespace string, request *http.Request) (selected []*unstructured.Unstructured,
	err error) {
	query := request.URL.Query()
	byLabels, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	byFields, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, err
	}
	for _, object := range h.objects[of.GroupResource()] {
		identity := fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
		if namespace != "" && object.GetNamespace() != namespace || !byLabels.Matches(labels.Set(object.GetLabels())) ||
			!byFields.Matches(identity) {
			continue
		}
		if object.GetAPIVersion() != of.GroupVersion().String() {
			object = object.DeepCopy()
			object.SetAPIVersion(of.GroupVersion().String())
		}
		selected = append(selected, object)
	}
	return selected, nil
}

func wantsMetadata(request *http.Request) bool {
	return strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// watch serves initial events of the objects if they are requested, and nothing else until the request ends.
func watch(request *http.Request, of *Type, items []any) (*http.Response, error) {
	var events bytes.Buffer
	encoder := json.NewEncoder(&events)
	if request.URL.Query().Get("sendInitialEvents") == "true" {
		for _, item := range items {
			if err := encoder.Encode(map[string]any{"type": "ADDED", "object": item}); err != nil {
				return nil, err
			}
		}
		bookmark := map[string]any{"apiVersion": of.GroupVersion().String(), "kind": of.Kind, "metadata": map[string]any{
			"resourceVersion": resourceVersion, "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
		}}
		if wantsMetadata(request) {
			bookmark["apiVersion"], bookmark["kind"] = "meta.k8s.io/v1", "PartialObjectMetadata"
		}
		if err := encoder.Encode(map[string]any{"type": "BOOKMARK", "object": bookmark}); err != nil {
			return nil, err
		}
	}
	return respondRaw(request, http.StatusOK, newStream(request, events.Bytes())), nil
}

// RoundTrip implements http.RoundTripper.
func (h *staticHost) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		defer func() { _ = request.Body.Close() }()
	}
	path := strings.TrimPrefix(request.URL.Path, "/")
	switch {
	case request.Method == http.MethodPost && strings.HasSuffix(path, "/subjectaccessreviews"):
		// The owner of the files may do everything.
		allowed := authorizationv1.SubjectAccessReviewStatus{Allowed: true}
		return respond(request, http.StatusCreated, &authorizationv1.SubjectAccessReview{Status: allowed})
	case request.Method != http.MethodGet:
		return refuse(request, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			"this cluster is read-only")
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

// versionIn returns the version in a path, and the rest of the path; nil if there is no rest. The path of a group has
// no version.
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

// serveGroup serves the versions of a group.
func (h *staticHost) serveGroup(request *http.Request, group string) (*http.Response, error) {
	answer := &metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: group}
	for apiVersion := range h.types.catalog.Resources {
		if version, err := schema.ParseGroupVersion(apiVersion); err == nil && version.Group == group {
			answer.Versions = append(answer.Versions, metav1.GroupVersionForDiscovery{GroupVersion: apiVersion,
				Version: version.Version})
		}
	}
	if len(answer.Versions) == 0 {
		return refuse(request, http.StatusNotFound, metav1.StatusReasonNotFound, "there is no group "+group)
	}
	return respond(request, http.StatusOK, answer)
}

// serveVersion serves the types of a version.
func (h *staticHost) serveVersion(request *http.Request, version schema.GroupVersion) (*http.Response, error) {
	resources, known := h.types.catalog.Resources[version.String()]
	if !known {
		return refuse(request, http.StatusNotFound, metav1.StatusReasonNotFound, "there is no version "+version.String())
	}
	answer := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: version.String()}
	for _, resource := range resources {
		served := metav1.APIResource{Name: resource.Name, Kind: resource.Kind, Namespaced: resource.Namespaced,
			Verbs: []string{"get", "list", "watch"}}
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
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": []string{"application/json"}},
		Body: closer, ContentLength: -1, Request: request,
	}
}

func refuse(request *http.Request, code int32, reason metav1.StatusReason, message string) (*http.Response, error) {
	return respond(request, int(code), &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code,
		Reason: reason, Message: message,
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

// WriteTo hides the reader's own WriteTo, which would not wait.
func (s *stream) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{s}) }

// Close implements io.Closer.
func (s *stream) Close() error {
	s.close.Do(func() { close(s.closed) })
	return nil
}
