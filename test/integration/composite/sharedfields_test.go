// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// specData answers a ConfigMap named like the parent that holds its spec.data.
func specData(asked request) object {
	data, _, _ := unstructured.NestedMap(asked.Parent.Object, "spec", "data")
	return object{"children": []object{hook.ConfigMap(asked.Parent.GetName(), data)}}
}

// recordsKey checks that it is known of a ConfigMap that the hook has wanted a key of its data: by
// the annotation of dynamic apply, or by what server-side apply owns.
func recordsKey(key string) func(*corev1.ConfigMap) error {
	return func(configMap *corev1.ConfigMap) error {
		if strings.Contains(configMap.Annotations[recordAnnotation], `"`+key+`":`) {
			return nil
		}
		for _, entry := range configMap.ManagedFields {
			if entry.Manager == "metacontroller" && entry.Operation == metav1.ManagedFieldsOperationApply && strings.Contains(entry.FieldsV1.String(), "f:"+key) {
				return nil
			}
		}
		return fmt.Errorf("it is not recorded that the hook wants %s", key)
	}
}

// A field that the hook once wanted goes when the hook no longer wants it, even if another client
// had set it before. The child is not created again only to record what the hook wants.
func TestASharedFieldIsRemovedUnderRecreate(t *testing.T) {
	t.Parallel()
	recreating := func(method v1alpha1.ChildUpdateMethod) change {
		return func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ChildResources[0] = harness.ChildRule("v1", "configmaps", method)
		}
	}
	dropB := func(f *fixture, uid types.UID) {
		f.Helper()
		f.WaitForConfigMap("a", recordsKey("b"))
		f.Settle("a")
		if child := f.WaitForConfigMap("a", harness.HasData("b", "2")); child.UID != uid {
			f.Error("the child was created again, although it was as the hook wants it")
		}
		f.PatchParent("a", object{"spec": object{"data": object{"b": nil}}})
		child := f.WaitForConfigMap("a", func(child *corev1.ConfigMap) error {
			return errors.Join(harness.HasData("a", "1")(child), harness.HasData("b", "")(child))
		})
		if child.UID == uid {
			f.Error("the child should have been created again")
		}
		f.Settle("a")
		f.Settle("a")
		from := env.AuditEnd(f)
		f.Settle("a")
		env.ExpectNoRequests(f, from, hostcluster.Request{Resource: "configmaps", Namespace: f.Namespace})
	}
	t.Run("Recreate, of an adopted child", func(t *testing.T) {
		underBothEngines(t, func(t *testing.T, engine change) {
			t.Parallel()
			f := prepare(t, hook.Serve(t, answers(t, specData)))
			parent := f.CreateParent("a", object{"data": object{"a": "1", "b": "2"}})
			orphan := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"controller-uid": string(parent.GetUID())}},
				Data:       map[string]string{"a": "1", "b": "2"},
			}
			orphan, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(), orphan, metav1.CreateOptions{FieldManager: "others"})
			if err != nil {
				t.Fatal(err)
			}
			f.RunComposite(f.CompositeSpec(recreating(v1alpha1.ChildUpdateRecreate), engine))
			dropB(f, orphan.UID)
		})
	})
	t.Run("RollingRecreate, that another client had added", func(t *testing.T) {
		underBothEngines(t, func(t *testing.T, engine change) {
			t.Parallel()
			f := start(t, answers(t, specData), recreating(v1alpha1.ChildUpdateRollingRecreate), engine)
			f.CreateParent("a", object{"data": object{"a": "1"}})
			child := f.WaitForConfigMap("a", harness.HasData("a", "1"))
			f.PatchConfigMap("a", object{"data": object{"b": "2"}})
			f.Settle("a")
			f.PatchParent("a", object{"spec": object{"data": object{"b": "2"}}})
			dropB(f, child.UID)
		})
	})
}

// What the host drops, rewrites or fills in is no reason to create a child again: neither one that is
// adopted, nor one of which the hook drops what the host fills in.
func TestServerSideApplyRecreatesNothingForWhatTheHostHasMade(t *testing.T) {
	t.Parallel()
	t.Run("children that are adopted", func(t *testing.T) {
		t.Parallel()
		o := newSingleChildren(t, v1alpha1.ChildUpdateRecreate, originals)
		o.engine = v1alpha1.ChildApplyServerSide
		before := map[string]types.UID{}
		for name := range o.desired {
			o.CreateParent(name, object{})
			before[name] = o.orphan(name).GetUID()
		}
		o.run()
		o.expectUnchanged(before)
	})
	t.Run("children whose defaults the hook drops", func(t *testing.T) {
		t.Parallel()
		with := maps.Clone(phantoms)
		for _, refused := range []string{"fields that do not exist", "fields that a Pod has not"} {
			delete(with, refused) // the host applies nothing that the type has not
		}
		with["a Secret"] = `{apiVersion: v1, kind: Secret, type: Opaque, stringData: {a: text}}`
		with["a Pod"] = `{apiVersion: v1, kind: Pod, spec: {dnsPolicy: ClusterFirst, restartPolicy: Always, containers: [{name: c, image: x, terminationMessagePolicy: File, resources: {limits: {cpu: 1000m}}}]}}`
		with["a Gadget"] = `{apiVersion: GADGET, kind: Gadget, spec: {flag: true, level: 3, ports: [{port: 80, protocol: TCP, note: none}]}}`
		o := newSingleChildren(t, v1alpha1.ChildUpdateRecreate, with)
		o.engine = v1alpha1.ChildApplyServerSide
		o.createAll()
		before := map[string]types.UID{}
		for name := range o.desired {
			before[name] = o.theChild(t.Context(), name).GetUID()
		}
		o.expectUnchanged(before)

		without := maps.Clone(with)
		without["a Secret"] = `{apiVersion: v1, kind: Secret, stringData: {a: text}}`
		without["a Pod"] = `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: x, resources: {limits: {cpu: 1000m}}}]}}`
		without["a Gadget"] = `{apiVersion: GADGET, kind: Gadget, spec: {flag: true, ports: [{port: 80}]}}`
		o.want(without)
		o.expectUnchanged(before)
	})
}

// expectUnchanged checks that the children are the same, are changed by nothing but their owners of
// fields, and are not written again, even after another client has labelled them.
func (o *singleChildren) expectUnchanged(before map[string]types.UID) {
	o.Helper()
	isChild := func(asked request) bool {
		for _, named := range asked.Children {
			for _, child := range named {
				if metav1.GetControllerOf(&unstructured.Unstructured{Object: child}) != nil {
					return true
				}
			}
		}
		return false
	}
	o.waitUntilSynced("settling-"+harness.Name("a"), isChild)
	from := env.AuditEnd(o)
	for name := range before {
		child := o.theChild(o.Context(), name)
		label := fmt.Sprintf(`{"metadata":{"labels":{"others":%q}}}`, harness.Name("x"))
		_, err := env.Dynamic.Resource(o.typeOf(child)).Namespace(o.Namespace).
			Patch(o.Context(), name, types.MergePatchType, []byte(label), metav1.PatchOptions{FieldManager: "others"})
		if err != nil {
			o.Fatal(err)
		}
	}
	o.waitUntilSynced("labelled-"+harness.Name("a"), isChild)
	for _, of := range o.types {
		for _, event := range env.AuditEvents(o, from, hostcluster.Request{Verbs: hostcluster.Writes(), Group: of.Group, Resource: of.Resource, Namespace: o.Namespace}) {
			if !strings.Contains(event.RequestURI, "dryRun=All") {
				o.Errorf("there should be no write of a child that is as wanted, but there was: %s %s",
					event.Verb, event.RequestURI)
			}
		}
	}
	for name, uid := range before {
		if o.theChild(o.Context(), name).GetUID() != uid {
			o.Errorf("%s was created again", name)
		}
	}
}
