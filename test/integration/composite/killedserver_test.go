// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A killed server loses nothing that it acknowledged. After the restart every parent has exactly
// its children.
func TestKilledServerComesBackComplete(t *testing.T) {
	const kills, parents, children = 10, 20, 5
	f := start(t, answers(t, func(asked request) object {
		value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
		var desired []object
		for i := range children {
			desired = append(desired, hook.ConfigMap(fmt.Sprintf("%s-%d", asked.Parent.GetName(), i), object{"value": value}))
		}
		return object{"children": desired}
	}))
	for i := range parents {
		f.CreateParent(fmt.Sprintf("p%d", i), object{"value": "start"})
	}
	stored := map[string]bool{}
	for round := range kills {
		value := fmt.Sprintf("round-%d", round)
		stop := f.keepCreatingControllers(round, stored)
		for i := range parents {
			f.PatchParent(fmt.Sprintf("p%d", i), object{"spec": object{"value": value}})
			if i == parents/2 {
				env.KillServer(t)
			}
		}
		stop()
		env.StartServer(t)
		f.expectControllers(stored)
		f.expectChildren(parents, children, value)
	}
}

// keepCreatingControllers creates CompositeControllers until stop is called or the server is gone,
// and records the acknowledged ones.
func (f *fixture) keepCreatingControllers(round int, acknowledged map[string]bool) (stop func()) {
	ctx, cancel := context.WithCancel(f.Context())
	var running sync.WaitGroup
	spec := f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"nobody": "has-this"}}
		spec.ResyncPeriodSeconds = ptr.To(int32(3600))
	})
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			name := fmt.Sprintf("%s-%d-%d", f.Controller.Name, round, i)
			_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Create(ctx,
				&v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
			if err != nil {
				return
			}
			acknowledged[name] = true
		}
	})
	return func() { cancel(); running.Wait() }
}

// expectControllers checks that all acknowledged controllers are there, and deletes them.
func (f *fixture) expectControllers(acknowledged map[string]bool) {
	f.Helper()
	controllers := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	missing := maps.Clone(acknowledged)
	afterRestart(f, func(ctx context.Context) error {
		list, err := controllers.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, controller := range list.Items {
			delete(missing, controller.Name)
		}
		return nil
	})
	if len(missing) > 0 {
		f.Fatalf("the server acknowledged these and lost them: %v", slices.Sorted(maps.Keys(missing)))
	}
	f.Logf("%d acknowledged CompositeControllers are there", len(acknowledged))
	for name := range acknowledged {
		afterRestart(f, func(ctx context.Context) error {
			if err := controllers.Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		})
		delete(acknowledged, name)
	}
}

// afterRestart repeats a request while the host regards the server as down. It does so for a moment
// after a restart.
func afterRestart(f *fixture, request func(context.Context) error) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		err := request(ctx)
		if err != nil && !apierrors.IsServiceUnavailable(err) {
			f.Fatal(err)
		}
		return err
	})
}

// expectChildren waits until each parent has its children and no others.
func (f *fixture) expectChildren(parents, children int, value string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		list, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "controller-uid"})
		if err != nil {
			return err
		}
		var errs []error
		if len(list.Items) != parents*children {
			errs = append(errs, fmt.Errorf("there should be %d children, but there are %d", parents*children, len(list.Items)))
		}
		for _, child := range list.Items {
			errs = append(errs, harness.HasData("value", value)(&child), isControlled(&child))
		}
		return errors.Join(errs...)
	})
}

func isControlled(child *corev1.ConfigMap) error {
	if owners := child.OwnerReferences; len(owners) != 1 || metav1.GetControllerOf(child) == nil {
		return fmt.Errorf("child %s should have its parent as the only owner, but has %v", child.Name, owners)
	}
	return nil
}
