// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package statichost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// serveObjects answers requests for objects: one, a list, or a watch.
func (h *Host) serveObjects(request *http.Request, version schema.GroupVersion, rest []string) (*http.Response, error) {
	namespace := ""
	if rest[0] == "namespaces" && len(rest) > 2 {
		namespace, rest = rest[1], rest[2:]
	}
	of := h.types.named(version, rest[0])
	if of == nil || len(rest) > 2 {
		return refuse(request, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
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
		return refuse(request, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", of.GroupResource(), rest[1]))
	}
	items, kind := make([]any, len(objects)), of.Kind+"List"
	for i, object := range objects {
		items[i] = object.Object
	}
	apiVersion := version.String()
	if wantsMetadata(request) {
		apiVersion, kind = "meta.k8s.io/v1", "PartialObjectMetadataList"
		for i, object := range objects {
			items[i] = map[string]any{"apiVersion": apiVersion, "kind": "PartialObjectMetadata", "metadata": object.Object["metadata"]}
		}
	}
	if request.URL.Query().Get("watch") == "true" {
		return watch(request, of, items)
	}
	return respond(request, http.StatusOK, map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"resourceVersion": resourceVersion}, "items": items,
	})
}

// selected returns the objects of a type that a request asks for, in its version.
func (h *Host) selected(of *Type, namespace string, request *http.Request) (selected []*unstructured.Unstructured, err error) {
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
		if namespace != "" && object.GetNamespace() != namespace || !byLabels.Matches(labels.Set(object.GetLabels())) || !byFields.Matches(identity) {
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

// watch answers with events of the objects, if they are asked for, and with nothing else until the request ends.
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
