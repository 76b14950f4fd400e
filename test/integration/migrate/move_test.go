// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
)

const plain = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec: {parentResource: {apiVersion: example.com/v1, resource: things}, hooks: {sync: {webhook: {url: "%s"}}}}
`

// Everything is moved there and back while rollouts are blocked, and no child is written. If children would be written,
// everything is undone unless the user accepts it.
func TestThereAndBack(t *testing.T) {
	const parents = 2
	w := newWorld(t)
	e, hooks := newEstate(w, shapesOf(8))
	e.leave(parents)
	w.installOriginal(1)
	before, from, called := e.census(), env.AuditEnd(t), len(hooks.Calls())
	w.expectSays([]string{"switch"}, false,
		fmt.Sprintf("previewed %d parents: 0 writes to children", len(e.shapes)*parents))
	w.waitForOriginal(false)
	e.waitUntilAllAreSynced(hooks, called, parents)
	e.expectSurvived(before, "switch")
	w.migrate("back")
	w.waitForOriginal(true)
	e.expectSurvived(before, "back")

	changed := e.shapes[1].parentName(1)
	if _, err := e.in(e.things).Patch(t.Context(), changed, types.MergePatchType, []byte(`{"spec":{"value":"3"}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.killAfter(3, "switch", os.Kill) // a switch that is repeated, and then fails, is undone, too
	w.expectSays([]string{"switch"}, true, "parents: 1 write to children", fmt.Sprintf("CompositeController %s, Thing "+
		"%[2]s/%[3]s: Update ConfigMap %[2]s/%[3]s", e.shapes[1].name, e.namespace, changed),
		"undoing the step, because it failed", "--accept-writes", "from 0 to 1")
	w.waitForDefinitions()
	w.waitForOriginal(true)
	e.expectSurvived(before, "what was undone")
	e.expectNoChildWrites(from)
	w.migrate("switch", "--accept-writes")
	e.eventually(func(ctx context.Context) error {
		of, err := e.in(configMaps).Get(ctx, changed, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if value, _, _ := unstructured.NestedString(of.Object, "data", "value"); value != "3" {
			return fmt.Errorf("the value is %s", value)
		}
		return nil
	})
	w.expectRefusesAnotherServer()
	w.expectSaysThatMetacontrollerRuns()
}

// expectRefusesAnotherServer fails the test if a step leads who names another Service back to the old objects of the
// definitions.
func (w *world) expectRefusesAnotherServer() {
	w.Helper()
	for _, step := range []string{"check", "switch", "back", "finish"} {
		w.expectSays([]string{step, "--service-name=other"}, true,
			"refers to the Service metacontroller/metacontroller-apiserver")
	}
}

// expectSaysThatMetacontrollerRuns fails the test if a step does not say that Metacontroller runs the same controllers
// beside the server.
func (w *world) expectSaysThatMetacontrollerRuns() {
	w.Helper()
	env.Kubectl(w, "-n", "metacontroller", "scale", "statefulset", originalName, "--replicas=1")
	for _, step := range []string{"check", "switch"} {
		w.expectSays([]string{step}, false,
			"Metacontroller still runs, as statefulset/metacontroller/metacontroller")
	}
}

// expectNothingLeft fails the test if the way back has left something: types in discovery, and objects at the server
// that would come alive when an APIService leads there again.
func (w *world) expectNothingLeft() {
	w.Helper()
	if said := env.Kubectl(w, "api-resources", "--api-group=metacontroller.k8s.io", "-o", "name"); strings.Contains(said,
		"syncs") ||
		!strings.Contains(said, "compositecontrollers") {
		w.Errorf("the types are %s", said)
	}
	for _, kind := range kinds {
		of, err := env.Dynamic.Resource(definitions).Get(w.Context(), kind.GroupResource().String(), metav1.GetOptions{})
		if err != nil {
			w.Fatal(err)
		}
		if versions, _, _ := unstructured.NestedSlice(of.Object, "spec", "versions"); len(versions) != 1 {
			w.Errorf("%s has %d versions", of.GetName(), len(versions))
		}
	}
	w.installOver()
	for _, kind := range kinds {
		list, err := env.Dynamic.Resource(kind).List(w.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) > 0 {
			w.Errorf("the server still has %d %s, error %v", len(list.Items), kind.Resource, err)
		}
	}
}

// installOver applies the APIService of the manifests over the definitions.
func (w *world) installOver() {
	w.Helper()
	manifest := read(w, "artifacts/deploy/base/apiservice.yaml")
	env.Apply(w, strings.Replace(manifest, "name: metacontroller-apiserver\n",
		fmt.Sprintf("name: metacontroller-apiserver\n    port: %d\n", w.port), 1))
	env.Kubectl(w, "wait", "--for=jsonpath={.status.conditions[*].reason}=Passed", "--timeout=60s",
		"apiservice/"+aggregation.APIServiceName)
}
