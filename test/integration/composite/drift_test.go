// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// drift is a change of a child by another client.
type drift struct {
	child string
	patch string // a JSON merge patch
	// scale makes the change through that subresource.
	scale bool
}

const (
	driftConfigMap  = `{apiVersion: v1, kind: ConfigMap, data: {a: "1000m", b: "x"}}`
	driftDeployment = `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}},
		spec: {tolerations: [{key: a, operator: Exists}], volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: x,
			resources: {limits: {cpu: 1000m}}, ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}]}]}}}}`
	driftGadget = `{apiVersion: GADGET, kind: Gadget, spec: {flag: false, empty: {}, names: [a, b], containers: [{image: x}, {image: z}]}}`
)

// drifts are changes of fields that the hook answers. Some look like changes that the host itself
// makes.
var drifts = map[string]drift{
	"a value":                              {child: driftConfigMap, patch: `{"data":{"b":"y"}}`},
	"a text that is the same quantity":     {child: driftConfigMap, patch: `{"data":{"a":"1"}}`},
	"a key that is gone":                   {child: driftConfigMap, patch: `{"data":{"b":null}}`},
	"all keys gone":                        {child: driftConfigMap, patch: `{"data":null}`},
	"a label":                              {child: `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {x: "1"}}}`, patch: `{"metadata":{"labels":{"x":"2"}}}`},
	"a text of a Secret":                   {child: `{apiVersion: v1, kind: Secret, stringData: {a: text}}`, patch: `{"data":{"a":"b3RoZXI="}}`},
	"a text of a Secret that is gone":      {child: `{apiVersion: v1, kind: Secret, stringData: {a: text}}`, patch: `{"data":{"a":null}}`},
	"a number":                             {child: driftDeployment, patch: `{"spec":{"replicas":2}}`},
	"a number by a subresource":            {child: driftDeployment, patch: `{"spec":{"replicas":3}}`, scale: true},
	"a quantity":                           {child: driftDeployment, patch: driftContainer(`"resources":{"limits":{"cpu":"2"}}`)},
	"an item taken out of an atomic list":  {child: driftDeployment, patch: `{"spec":{"template":{"spec":{"tolerations":[]}}}}`},
	"an item put into an atomic list":      {child: driftDeployment, patch: `{"spec":{"template":{"spec":{"tolerations":[{"key":"a","operator":"Exists"},{"key":"b","operator":"Exists"}]}}}}`},
	"one of two ports with one number":     {child: driftDeployment, patch: driftContainer(`"ports":[{"containerPort":53,"protocol":"UDP"}]`)},
	"an empty field that is gone":          {child: driftGadget, patch: `{"spec":{"empty":null}}`},
	"a false that is gone":                 {child: driftGadget, patch: `{"spec":{"flag":null}}`},
	"a value taken out of a set":           {child: driftGadget, patch: `{"spec":{"names":["a"]}}`},
	"a list of objects that have no names": {child: driftGadget, patch: `{"spec":{"containers":[{"image":"z"},{"image":"x"}]}}`},
}

// driftContainer is a patch of the container of driftDeployment.
func driftContainer(changed string) string {
	return `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"x",` + changed + `}]}}}}`
}

// A change by another client is reverted, also if it was made while the server was stopped.
func TestDriftIsRepaired(t *testing.T) {
	texts := map[string]string{}
	for title, drift := range drifts {
		texts[title] = drift.child
	}
	var controllers []*singleChildren
	wanted := map[*singleChildren]map[string]*unstructured.Unstructured{}
	for _, method := range []v1alpha1.ChildUpdateMethod{v1alpha1.ChildUpdateInPlace, v1alpha1.ChildUpdateRecreate} {
		o := newSingleChildren(t, method, texts)
		o.createAll()
		wanted[o] = map[string]*unstructured.Unstructured{}
		for name := range o.desired {
			wanted[o][name] = o.theChild(t.Context(), name)
		}
		o.driftAll()
		o.expectRepaired("while the server runs", wanted[o])
		controllers = append(controllers, o)
	}
	env.StopServer(t)
	for _, o := range controllers {
		o.driftAll()
	}
	env.StartServer(t)
	for _, o := range controllers {
		o.expectRepaired("while it did not", wanted[o])
	}
}

// driftAll makes the change of each child.
func (o *singleChildren) driftAll() {
	o.Helper()
	for title, drift := range drifts {
		child := o.theChild(o.Context(), nameOf(title))
		var subresources []string
		if drift.scale {
			subresources = []string{"scale"}
		}
		_, err := env.Dynamic.Resource(o.typeOf(child)).Namespace(o.Namespace).
			Patch(o.Context(), child.GetName(), types.MergePatchType, []byte(drift.patch), metav1.PatchOptions{FieldManager: "somebody"}, subresources...)
		if err != nil {
			o.Fatalf("%s: %v", title, err)
		}
	}
}

// expectRepaired waits until all children have the wanted content again.
func (o *singleChildren) expectRepaired(when string, wanted map[string]*unstructured.Unstructured) {
	o.Helper()
	for name, want := range wanted {
		env.Eventually(o, func(ctx context.Context) error {
			child, err := env.Dynamic.Resource(o.typeOf(want)).Namespace(o.Namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, want := contentOf(o, child), contentOf(o, want); got != want {
				return fmt.Errorf("with %s, what was changed %s should have become %s again, but %s is %s", o.method, when, want, name, got)
			}
			return nil
		})
	}
}

// contentOf returns the part of an object that a hook can answer.
func contentOf(t testing.TB, child *unstructured.Unstructured) string {
	content := object{"labels": child.GetLabels()}
	for name, value := range child.Object {
		if name != "metadata" && name != "status" {
			content[name] = value
		}
	}
	return harness.JSON(t, content)
}

// theChild reads the child of that name.
func (o *singleChildren) theChild(ctx context.Context, name string) *unstructured.Unstructured {
	o.Helper()
	desired := &unstructured.Unstructured{}
	if err := json.Unmarshal(o.desired[name], &desired.Object); err != nil {
		o.Fatal(err)
	}
	child, err := env.Dynamic.Resource(o.typeOf(desired)).Namespace(o.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		o.Fatal(err)
	}
	return child
}

// typeOf returns the type of a child.
func (o *singleChildren) typeOf(child *unstructured.Unstructured) schema.GroupVersionResource {
	o.Helper()
	resource := strings.ToLower(child.GetKind()) + "s"
	for _, of := range o.types {
		if of.GroupVersion() == child.GroupVersionKind().GroupVersion() && strings.HasPrefix(of.Resource, strings.TrimSuffix(resource, "ys")) {
			return of
		}
	}
	o.Fatalf("there is no type for %s", child.GroupVersionKind())
	return schema.GroupVersionResource{}
}
