// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Lag is a host without streaming lists, one of whose API servers lags. Its cache has the state
// that was recorded: it is what lists show that accept any state (resourceVersion=0). Other lists
// show the present state.
type Lag struct {
	recorded map[schema.GroupVersionResource]*unstructured.UnstructuredList
}

// Record records the present state of resources.
func Record(upstream *Upstream, resources ...schema.GroupVersionResource) (*Lag, error) {
	lag := &Lag{recorded: map[schema.GroupVersionResource]*unstructured.UnstructuredList{}}
	for _, resource := range resources {
		list, err := recordOne(upstream, resource)
		if err != nil {
			return nil, fmt.Errorf("record the present state of %s: %w", resource.Resource, err)
		}
		lag.recorded[resource] = list
	}
	return lag, nil
}

func recordOne(upstream *Upstream, resource schema.GroupVersionResource) (*unstructured.UnstructuredList, error) {
	path := "/apis/" + resource.Group
	if resource.Group == "" {
		path = "/api"
	}
	request, err := http.NewRequest(http.MethodGet, upstream.URL+path+"/"+resource.Version+"/"+resource.Resource, nil)
	if err != nil {
		return nil, err
	}
	response, err := upstream.Host.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	return list, list.UnmarshalJSON(body)
}

// serve answers a request that such a host answers in another way, and reports whether it did.
func (l *Lag) serve(x *Exchange) bool {
	list := l.recorded[schema.GroupVersionResource{Group: x.APIGroup, Version: x.APIVersion, Resource: x.Resource}]
	query := x.r.URL.Query()
	switch {
	case x.Own || list == nil:
		return false
	case x.Verb == "watch" && query.Get("sendInitialEvents") == "true":
		Fail(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled", 0)(x)
		return true
	case x.Verb == "list" && query.Get("resourceVersion") == "0":
		x.proxy.note("%s: an earlier state", x.Request)
		l.answer(x, list)
		return true
	}
	return false
}

// answer answers the objects of a recorded list that a request selects.
func (l *Lag) answer(x *Exchange, list *unstructured.UnstructuredList) {
	query := x.r.URL.Query()
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		abort()
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		abort()
	}
	selected := &unstructured.UnstructuredList{Object: list.Object, Items: []unstructured.Unstructured{}}
	for _, item := range list.Items {
		if (x.Namespace == "" || x.Namespace == item.GetNamespace()) && byLabel.Matches(labels.Set(item.GetLabels())) &&
			byField.Matches(fields.Set{"metadata.name": item.GetName(), "metadata.namespace": item.GetNamespace()}) {
			selected.Items = append(selected.Items, item)
		}
	}
	body, err := json.Marshal(selected)
	if err != nil {
		abort()
	}
	x.reply(answer{code: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: body}, len(body))
}
