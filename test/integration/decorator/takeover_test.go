// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// originalManager is the field manager of Metacontroller's writes.
const originalManager = "metacontroller"

// originals are attachments that Metacontroller has made, by their type.
var originals = map[schema.GroupVersionResource]string{
	{Version: "v1", Resource: "configmaps"}: `{apiVersion: v1, kind: ConfigMap, metadata: {name: it}, data: {html: "<b>&", value: "1"}}`,
	{Version: "v1", Resource: "services"}: `{apiVersion: v1, kind: Service, metadata: {name: it, annotations: {note: x}},
		spec: {selector: {app: x}, ports: [{name: a, port: 53}, {name: b, port: 53, protocol: UDP}]}}`,
	{Group: "apps", Version: "v1", Resource: "deployments"}: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: it, labels: {app: x}}, spec: {replicas: 0, selector: {matchLabels: {app: x}},
		template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: x, resources: {limits: {cpu: 1000m, memory: 1024Mi}}, ports: [{containerPort: 80}]}]}}}}`,
}

func originalsOf(t *testing.T) []object {
	t.Helper()
	var all []object
	for _, text := range originals {
		var attachment object
		if err := yaml.Unmarshal([]byte(text), &attachment); err != nil {
			t.Fatal(err)
		}
		all = append(all, attachment)
	}
	return all
}

// testTakingOver tests a decorator whose target and attachments Metacontroller has left. Leave
// writes an attachment as Metacontroller does.
func testTakingOver(t *testing.T, method v1alpha1.ChildUpdateMethod, leave func(*fixture, schema.GroupVersionResource, *unstructured.Unstructured)) {
	t.Helper()
	var answered atomic.Bool
	answer := answers(t, func(asked request) object {
		answered.Store(true)
		value, _, _ := unstructured.NestedString(asked.Object.Object, "spec", "value")
		attachments := originalsOf(t)
		for _, attachment := range attachments {
			if data, ok := attachment["data"].(object); ok {
				data["value"] = value
			}
		}
		return object{
			"labels": object{"decorated": "yes", "removed": nil}, "annotations": object{"decorated": "yes"},
			"status": object{"decorated": true, "share": 1.0}, "attachments": attachments, "finalized": asked.Finalizing,
		}
	})
	f := prepare(t, harness.CRD{Kind: "Thing"}, nil)
	name := harness.Name("test")
	target := f.CreateParentWith("a", object{
		"labels": object{"decorated": "yes", "others": "x"}, "annotations": object{"decorated": "yes", "others": "x"},
		"finalizers": []any{"metacontroller.io/decoratorcontroller-" + name},
	}, object{"value": "1"})
	f.PatchParent("a", object{"status": object{"decorated": true, "share": 1}}, "status")
	uids, leftBehind := map[types.UID]bool{}, []unstructured.Unstructured{}
	for of, text := range originals {
		attachment := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &attachment.Object); err != nil {
			t.Fatal(err)
		}
		attachment.SetNamespace(f.Namespace)
		annotations := map[string]string{"metacontroller.k8s.io/decorator-controller": name}
		maps.Copy(annotations, attachment.GetAnnotations())
		attachment.SetAnnotations(annotations)
		leave(f, of, attachment)
		attachments := env.Dynamic.Resource(of).Namespace(f.Namespace)
		left, err := attachments.Patch(t.Context(), "it", types.MergePatchType,
			[]byte(harness.JSON(t, object{"metadata": object{"labels": object{"others": "x"}, "annotations": object{"others": "x"}}})), metav1.PatchOptions{FieldManager: "others"})
		if err != nil {
			t.Fatal(err)
		}
		if owner := metav1.GetControllerOf(left); owner == nil || owner.UID != target.GetUID() {
			t.Fatalf("the test leaves the %s to %v", left.GetKind(), owner)
		}
		uids[left.GetUID()], leftBehind = true, append(leftBehind, *left)
	}

	f.Hook.Handle(hook.OnceShown(leftBehind, answer))
	from := env.AuditEnd(t)
	f.Controller = harness.Decorator(name)
	f.CreateDecorator(name, f.DecoratorSpec(func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Hooks.Finalize, spec.Attachments = spec.Hooks.Sync.DeepCopy(), nil
		for of := range originals {
			spec.Attachments = append(spec.Attachments, harness.AttachmentRule(of.GroupVersion().String(), of.Resource, method))
		}
	}))
	env.Eventually(t, func(context.Context) error {
		if !answered.Load() {
			return errors.New("the hook should be called with all that was left")
		}
		return nil
	})
	f.Settle("a", f.Hook)
	f.expectNoWrites(from)

	f.PatchParent("a", object{"spec": object{"value": "2"}})
	if method == v1alpha1.ChildUpdateInPlace {
		f.WaitForConfigMap("it", harness.HasData("value", "2"))
		f.expectNoOp("a", f.Hook)
		for of := range originals {
			attachment, err := env.Dynamic.Resource(of).Namespace(f.Namespace).Get(t.Context(), "it", metav1.GetOptions{})
			if err != nil || !uids[attachment.GetUID()] || attachment.GetLabels()["others"] != "x" {
				t.Errorf("the attachment is %v (%v)", attachment, err)
			}
		}
	}
	f.DeleteParent("a")
	f.WaitUntilParentIsGone("a")
}

// ownedBy makes a target the owner of an attachment as Metacontroller does.
func (f *fixture) ownedBy(attachment *unstructured.Unstructured) {
	f.Helper()
	target := f.WaitForParent("a", func(*unstructured.Unstructured) error { return nil })
	attachment.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(target, target.GroupVersionKind())})
}

// leaveRecorded writes an attachment as dynamic apply does.
func leaveRecorded(f *fixture, of schema.GroupVersionResource, attachment *unstructured.Unstructured) {
	f.Helper()
	record := harness.JSON(f, attachment.Object)
	annotations := attachment.GetAnnotations()
	annotations["metacontroller.k8s.io/last-applied-configuration"] = record
	attachment.SetAnnotations(annotations)
	f.ownedBy(attachment)
	_, err := env.Dynamic.Resource(of).Namespace(f.Namespace).Create(f.Context(), attachment, metav1.CreateOptions{FieldManager: originalManager})
	if err != nil {
		f.Fatal(err)
	}
}

// leaveApplied writes an attachment as server-side apply does.
func leaveApplied(f *fixture, of schema.GroupVersionResource, attachment *unstructured.Unstructured) {
	f.Helper()
	f.ownedBy(attachment)
	_, err := env.Dynamic.Resource(of).Namespace(f.Namespace).Apply(f.Context(), "it", attachment, metav1.ApplyOptions{FieldManager: originalManager, Force: true})
	if err != nil {
		f.Fatal(err)
	}
}

var methods = []v1alpha1.ChildUpdateMethod{v1alpha1.ChildUpdateRecreate, v1alpha1.ChildUpdateInPlace}

// Targets and attachments that Metacontroller managed are taken over without a write.
func TestTakingOverTargetsAndAttachments(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		t.Run(string(method), func(t *testing.T) { t.Parallel(); testTakingOver(t, method, leaveRecorded) })
	}
}

func TestTakingOverAttachmentsOfServerSideApply(t *testing.T) {
	before := env.Server.Args
	env.Server.Args = append([]string{"--apply-strategy=server-side-apply"}, before...)
	env.KillServer(t)
	env.StartServer(t)
	t.Cleanup(func() {
		env.Server.Args = before
		if err := errors.Join(env.Server.Kill(), env.Server.Start(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
	for _, method := range methods {
		testTakingOver(t, method, leaveApplied)
	}
}
