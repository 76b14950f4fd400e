// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// The children of a controller may be controllers, which the server itself serves. It runs them, writes them only
// when the hook's answer changes, also after a restart, and they go with their parent.
func TestControllersAsChildren(t *testing.T) {
	made := map[v1alpha1.ChildApplyStrategy]*madeController{}
	for _, engine := range harness.Engines() {
		made[engine] = makeController(t, applied(engine))
	}
	from := env.AuditEnd(t)
	env.StopServer(t)
	env.StartServer(t)
	for engine, m := range made {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			m.maker.T, m.made.T = t, t
			m.made.CreateParent("b", object{"value": "2"})
			m.made.WaitForConfigMap("b", harness.HasData("value", "2"))
			m.settle()
			m.expectWrites(from)
			m.maker.WaitForReady(metav1.ConditionTrue, "Running")
			for _, name := range []string{m.maker.Controller.Name, m.made.Controller.Name} {
				events, err := env.Kube.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(),
					metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
				if err != nil {
					t.Fatal(err)
				}
				for _, event := range events.Items {
					if event.Type == corev1.EventTypeWarning {
						t.Errorf("%s: %s %s", name, event.Reason, event.Message)
					}
				}
			}
			m.maker.PatchParent(m.parent, object{"spec": object{"resync": 1800}})
			m.made.WaitForController(func(controller metav1.ObjectMeta, _ v1alpha1.ControllerStatus) error {
				if controller.Generation != 2 {
					return fmt.Errorf("the spec is of generation %d, want 2", controller.Generation)
				}
				return nil
			})
			m.settle()
			m.expectWrites(from, map[bool]string{true: "patch", false: "update"}[engine == v1alpha1.ChildApplyServerSide])

			m.maker.DeleteParent(m.parent)
			m.maker.WaitUntilParentIsGone(m.parent)
			m.made.WaitUntilControllerIsGone()
			m.made.WaitForConfigMap("b", harness.HasData("value", "2"))
		})
	}
}

// madeController is a controller that another one, the maker, has made for a parent.
type madeController struct {
	maker, made *fixture
	parent      string
}

// makeController has a controller made, and waits until it runs.
func makeController(t *testing.T, engine change) *madeController {
	t.Helper()
	m := &madeController{made: prepare(t, hook.Serve(t, answers(t, oneConfigMap))), parent: harness.Name("maker")}
	m.made.Controller = harness.Composite(harness.Name("made"))
	m.maker = &fixture{harness.NewFixture(t, env, harness.CRD{Kind: "Thing", ClusterScoped: true},
		hook.Serve(t, answers(t, func(asked request) object {
			return object{"children": []object{{
				"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "CompositeController",
				"metadata": object{"name": m.made.Controller.Name},
				"spec": object{
					"generateSelector": true,
					"parentResource": object{
						"apiVersion": m.made.Parents.GroupVersion().String(), "resource": m.made.Parents.Resource,
					},
					"childResources": []object{
						{"apiVersion": "v1", "resource": "configmaps", "updateStrategy": object{"method": "InPlace"}},
					},
					"resyncPeriodSeconds": asked.Parent.Object["spec"].(object)["resync"],
					"hooks": object{"sync": object{"webhook": object{
						"url": m.made.Hook.URL("/sync"), "timeout": "60s",
					}}},
				},
			}}}
		})))}
	m.maker.Namespace = ""
	m.maker.RunComposite(m.maker.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{harness.ChildRule(
			v1alpha1.SchemeGroupVersion.String(), "compositecontrollers", v1alpha1.ChildUpdateInPlace)}
	}, engine))
	m.maker.CreateParent(m.parent, object{"resync": 3600})
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		err := m.maker.ParentClient().Delete(ctx, m.parent, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	env.WaitForReady(t, m.made.Controller, metav1.ConditionTrue, "Running")
	m.made.CreateParent("a", object{"value": "1"})
	m.made.WaitForConfigMap("a", harness.HasData("value", "1"))
	return m
}

// settle waits until the maker has synced its parent, and the made controller has written its status.
func (m *madeController) settle() {
	m.maker.Helper()
	m.maker.Settle(m.parent)
	env.WaitForReady(m.maker, m.made.Controller, metav1.ConditionTrue, "Running")
	m.maker.Settle(m.parent)
}

// expectWrites fails the test unless the made controller was written by these requests.
func (m *madeController) expectWrites(from hostcluster.Position, want ...string) {
	m.maker.Helper()
	got := env.Requests(m.maker, from, hostcluster.Request{
		Verbs: hostcluster.Writes(), Group: v1alpha1.GroupName, Resource: m.made.Controller.Resource,
		Name: m.made.Controller.Name,
	})
	if fmt.Sprint(got) != fmt.Sprint(want) {
		m.maker.Errorf("the controller that is a child was written by %v, want %v", got, want)
	}
}
