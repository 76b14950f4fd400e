// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/hosttest"
)

// Hooks read the controller as the original sends it: with its kind, an empty
// status, and an object for statusChecks that are not set.
func TestTheControllerAsHooksAreSentIt(t *testing.T) {
	object := controller(t, `{`+parentWebs+`, `+syncHook+`, generateSelector: true,
		childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: InPlace}}, {apiVersion: v1, resource: namespaces}]}`)
	object.UID, object.Generation, object.ResourceVersion = "u", 3, "7"
	object.Labels = map[string]string{"a": "b"}
	object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	object.Status = v1alpha1.ControllerStatus{ObservedGeneration: 3, Parents: &v1alpha1.ParentCounts{Total: 5}}
	before := object.DeepCopy()

	spec, err := Resolve(t.Context(), hosttest.Discovery(t), object)
	if err != nil {
		t.Fatal(err)
	}
	got := spec.Object
	if diff := cmp.Diff(before, object); diff != "" {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
	const want = `{"kind":"CompositeController","apiVersion":"metacontroller.k8s.io/v1alpha1",
		"metadata":{"name":"webs","uid":"u","resourceVersion":"7","generation":3,"labels":{"a":"b"}},
		"spec":{"parentResource":{"apiVersion":"ctl.example/v1","resource":"webs"},"generateSelector":true,
			"childResources":[{"apiVersion":"v1","resource":"pods","updateStrategy":{"method":"InPlace","statusChecks":{}}},{"apiVersion":"v1","resource":"namespaces"}],
			"hooks":{"sync":{"webhook":{"url":"http://hooks.example"}}}},
		"status":{}}`
	if diff := cmp.Diff(decoded(t, []byte(want)), decoded(t, got)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var content any
	if err := json.Unmarshal(raw, &content); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return content
}
