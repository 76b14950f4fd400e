// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Another client takes over a field and lets go of it, so the host fills in its default. That is not
// what the host has made of the hook's value.
func TestADefaultThatNobodyOwnsIsReplaced(t *testing.T) {
	gadgets, before := map[*singleChildren]dynamic.ResourceInterface{}, map[*singleChildren]types.UID{}
	for _, method := range []v1alpha1.ChildUpdateMethod{v1alpha1.ChildUpdateInPlace, v1alpha1.ChildUpdateRecreate} {
		o := newSingleChildren(t, method, map[string]string{"gadget": `{apiVersion: GADGET, kind: Gadget, spec: {level: 5, names: [a]}}`})
		o.createAll()
		o.waitUntilSynced("quiet", anyRequest)
		child := o.theChild(t.Context(), "gadget")
		gadgets[o], before[o] = env.Dynamic.Resource(o.typeOf(child)).Namespace(o.Namespace), child.GetUID()
	}
	env.StopServer(t)
	for o, client := range gadgets {
		child := o.theChild(t.Context(), "gadget")
		for _, spec := range []object{{"flag": true, "level": int64(7)}, {"flag": true}} {
			taken := &unstructured.Unstructured{Object: object{
				"apiVersion": child.GetAPIVersion(), "kind": child.GetKind(), "metadata": object{"name": "gadget"}, "spec": spec,
			}}
			if _, err := client.Apply(t.Context(), "gadget", taken, metav1.ApplyOptions{FieldManager: "others", Force: true}); err != nil {
				t.Fatal(err)
			}
		}
		if level, _, _ := unstructured.NestedInt64(o.theChild(t.Context(), "gadget").Object, "spec", "level"); level != 3 {
			t.Fatalf("the host should have filled in its default 3, but the level is %d", level)
		}
	}
	env.StartServer(t)
	for o, client := range gadgets {
		env.Eventually(t, func(ctx context.Context) error {
			child, err := client.Get(ctx, "gadget", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if level, _, _ := unstructured.NestedInt64(child.Object, "spec", "level"); level != 5 {
				return fmt.Errorf("the level should be the hook's 5 again, but is %d", level)
			}
			if replaced := child.GetUID() != before[o]; replaced != (o.method == v1alpha1.ChildUpdateRecreate) {
				t.Errorf("with %s, that the child was replaced is %v", o.method, replaced)
			}
			return nil
		})
		from := env.AuditEnd(o)
		o.waitUntilSynced("put-back", anyRequest)
		o.expectNoChildWrites("after the field was put back", from)
	}
}
