// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// originalManager is the field manager of Metacontroller's writes.
const originalManager = "metacontroller"

// originals are children of Metacontroller.
var originals = map[string]string{
	"a ConfigMap": `{apiVersion: v1, kind: ConfigMap, data: {html: "<b>&", a: grüße}, binaryData: {}}`,
	"a Secret":    `{apiVersion: v1, kind: Secret, type: Opaque, stringData: {a: text}}`,
	"a Service":   `{apiVersion: v1, kind: Service, spec: {selector: {app: x}, ports: [{name: a, port: 53}, {name: b, port: 53, protocol: UDP}]}}`,
	"a Pod": `{apiVersion: v1, kind: Pod, spec: {restartPolicy: OnFailure, hostNetwork: false, tolerations: [{key: a, operator: Exists}], containers: [{name: c, image: x, command: [echo],
		resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: "0.5"}}}]}}`,
	"a Deployment": `{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {app: x}, annotations: {note: x}}, spec: {replicas: TEN, selector: {matchLabels: {app: x}},
		template: {metadata: {creationTimestamp: null, labels: {app: x}}, spec: {nodeSelector: null, containers: [{name: c, image: x, resources: {}, ports: [{containerPort: 80}]}]}}}, status: {}}`,
	"a Job": `{apiVersion: batch/v1, kind: Job, spec: {suspend: true, backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}`,
}

// canonical is the record of the last applied configuration as Metacontroller writes it.
func canonical(applied []byte) string { return string(applied) }

// indented is a record that somebody has written otherwise.
func indented(applied []byte) string {
	var record bytes.Buffer
	if err := json.Indent(&record, applied, "", "  "); err != nil {
		return err.Error()
	}
	return string(bytes.ReplaceAll(record.Bytes(), []byte(`\u003c`), []byte("<")))
}

// Children that Metacontroller managed with dynamic apply are taken over without a write, whatever
// the form of the annotation.
func TestQ48TakingOverFromDynamicApply(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		method v1alpha1.ChildUpdateMethod
		record func(applied []byte) string
	}{
		"InPlace, records as Metacontroller writes them": {v1alpha1.ChildUpdateInPlace, canonical},
		"Recreate, records written otherwise":            {v1alpha1.ChildUpdateRecreate, indented},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			o := newSingleChildren(t, test.method, originals)
			var left []unstructured.Unstructured
			for name := range o.desired {
				o.leaveParent(name)
				left = append(left, *o.leaveChild(name, test.record))
			}
			o.Hook.Handle(hook.OnceShown(left, answers(t, o.answer)))
			from := env.AuditEnd(o)
			o.run()
			for _, child := range left {
				o.waitUntilChildrenAreSent(child)
			}
			o.waitUntilSynced("taken-over", anyRequest)
			o.expectNoChildWrites("after taking over", from)
			env.ExpectNoRequests(o, from, hostcluster.Request{
				Verbs: hostcluster.Writes(), Group: o.Parents.Group, Resource: o.Parents.Resource,
			})
		})
	}
}

// leaveParent creates a parent as Metacontroller would have left it.
func (o *singleChildren) leaveParent(name string) {
	o.Helper()
	parents := o.ParentClient()
	parent := o.CreateParent(name, object{})
	if err := unstructured.SetNestedField(parent.Object, parent.GetGeneration(), "status", "observedGeneration"); err != nil {
		o.Fatal(err)
	}
	if _, err := parents.UpdateStatus(o.Context(), parent, metav1.UpdateOptions{FieldManager: originalManager}); err != nil {
		o.Fatal(err)
	}
}

// leaveChild creates a child as Metacontroller would have left it, with additions of another
// client.
func (o *singleChildren) leaveChild(name string, record func([]byte) string) *unstructured.Unstructured {
	o.Helper()
	owner, err := o.GetParent(o.Context(), name)
	if err != nil {
		o.Fatal(err)
	}
	child := &unstructured.Unstructured{}
	if err := json.Unmarshal(o.desired[name], &child.Object); err != nil {
		o.Fatal(err)
	}
	child.SetNamespace(o.Namespace)
	labels := child.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["controller-uid"] = string(owner.GetUID())
	child.SetLabels(labels)

	canonical := harness.JSON(o, child.Object)
	annotations := child.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["metacontroller.k8s.io/last-applied-configuration"] = record([]byte(canonical))
	child.SetAnnotations(annotations)
	yes := true
	child.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: name, UID: owner.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
	}})
	children := env.Dynamic.Resource(o.typeOf(child)).Namespace(o.Namespace)
	if _, err := children.Create(o.Context(), child, metav1.CreateOptions{FieldManager: originalManager}); err != nil {
		o.Fatalf("create %s: %v", name, err)
	}
	left, err := children.Patch(o.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"others":"x"},"annotations":{"others":"x"}}}`),
		metav1.PatchOptions{FieldManager: "others"})
	if err != nil {
		o.Fatalf("patch %s: %v", name, err)
	}
	return left
}

// An orphan has no annotation with the last applied configuration. Its content is compared, so it
// is adopted and not replaced.
func TestQ48AdoptedChildIsComparedByItsContent(t *testing.T) {
	t.Parallel()
	texts := maps.Clone(originals)
	// An item that admission adds to a list is a difference if it is not known who applied the
	// list.
	texts["a Pod"] = strings.Replace(texts["a Pod"], "tolerations: [{key: a, operator: Exists}], ", "", 1)
	o := newSingleChildren(t, v1alpha1.ChildUpdateRecreate, texts)
	before := map[string]types.UID{}
	for name := range o.desired {
		o.CreateParent(name, object{})
		before[name] = o.orphan(name).GetUID()
	}
	o.run()
	for name := range before {
		env.Eventually(t, func(ctx context.Context) error {
			if metav1.GetControllerOf(o.theChild(ctx, name)) == nil {
				return fmt.Errorf("%s should be adopted, but has no controller", name)
			}
			return nil
		})
	}
	o.waitUntilSynced("adopted", anyRequest)
	for name, uid := range before {
		if o.theChild(t.Context(), name).GetUID() != uid {
			t.Errorf("%s should have been adopted, but is another one now", name)
		}
	}
}

// orphan creates a desired child as another client, without an owner and the annotation.
func (o *singleChildren) orphan(name string) *unstructured.Unstructured {
	o.Helper()
	owner, err := o.GetParent(o.Context(), name)
	if err != nil {
		o.Fatal(err)
	}
	child := &unstructured.Unstructured{}
	if err := json.Unmarshal(o.desired[name], &child.Object); err != nil {
		o.Fatal(err)
	}
	child.SetLabels(map[string]string{"app": "x", "controller-uid": string(owner.GetUID())})
	created, err := env.Dynamic.Resource(o.typeOf(child)).Namespace(o.Namespace).Create(o.Context(), child, metav1.CreateOptions{FieldManager: "others"})
	if err != nil {
		o.Fatalf("create %s: %v", name, err)
	}
	return created
}
