// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// ParentType is a type of parents or targets that does not come from a CustomResourceDefinition,
// with the content of an object of that type.
type ParentType struct {
	Resource      schema.GroupVersionResource
	Kind          string
	ClusterScoped bool
	Content       string // JSON, beside apiVersion, kind and metadata
	Changes       string // a JSON merge patch
}

// ParentTypes returns one ParentType for each case that controllers may treat differently, by a
// description of the case.
func ParentTypes() map[string]ParentType {
	return map[string]ParentType{
		"a built-in type with a status": {
			Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Kind: "Deployment",
			Content: `{"spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`,
			Changes: `{"spec":{"replicas":3}}`,
		},
		"a built-in type without a status": {
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret",
			Content: `{"stringData":{"a":"1"}}`, Changes: `{"stringData":{"a":"2"}}`,
		},
		"the type of the children": {
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap",
			Content: `{"data":{"a":"1"}}`, Changes: `{"data":{"a":"2"}}`,
		},
		"a type that another controller finalizes": {
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"},
			Kind:     "PersistentVolumeClaim",
			Content: `{"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"",` +
				`"resources":{"requests":{"storage":"1Mi"}}}}`,
			Changes: `{"metadata":{"annotations":{"a":"2"}}}`,
		},
		"a built-in cluster-scoped type": {
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace", ClusterScoped: true,
			Content: `{}`, Changes: `{"metadata":{"annotations":{"a":"2"}}}`,
		},
		"a built-in cluster-scoped type without a status": {
			Resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}, Kind: "ClusterRole", ClusterScoped: true,
			Content: `{"rules":[]}`, Changes: `{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`,
		},
		"a type of an aggregated server": {
			Resource: v1alpha1.SchemeGroupVersion.WithResource("controllerrevisions"), Kind: "ControllerRevision",
			Content: `{"parentPatch":{"spec":{}}}`, Changes: `{"children":[{"apiGroup":"apps","kind":"Deployment","names":["a"]}]}`,
		},
		"a cluster-scoped type of an aggregated server": {
			Resource: v1alpha1.SchemeGroupVersion.WithResource("decoratorcontrollers"), Kind: "DecoratorController", ClusterScoped: true,
			Content: `{"spec":{"resources":[],"hooks":{"sync":{"webhook":{"url":"http://nowhere.example"}}}}}`, Changes: `{"spec":{"resyncPeriodSeconds":3600}}`,
		},
	}
}

// Objects is the client of a type, in the namespace if it has namespaces.
func (e *Env) Objects(of ParentType, namespace string) dynamic.ResourceInterface {
	if of.ClusterScoped {
		return e.Dynamic.Resource(of.Resource)
	}
	return e.Dynamic.Resource(of.Resource).Namespace(namespace)
}

// Make creates an object of a type with labels and a name of its own.
func (e *Env) Make(t testing.TB, of ParentType, namespace string, labels map[string]string) *unstructured.Unstructured {
	t.Helper()
	made := &unstructured.Unstructured{Object: map[string]any{}}
	if err := json.Unmarshal([]byte(of.Content), &made.Object); err != nil {
		t.Fatal(err)
	}
	made.SetAPIVersion(of.Resource.GroupVersion().String())
	made.SetKind(of.Kind)
	made.SetName(Name("object"))
	made.SetLabels(labels)
	created, err := e.Objects(of, namespace).Create(t.Context(), made, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}
