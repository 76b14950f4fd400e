// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

func TestHundredsOfControllers(t *testing.T) {
	const controllers, edits = 300, 20
	before := env.StableGoroutines(t)
	resident := func() int64 {
		t.Helper()
		usage, err := env.Usage()
		if err != nil {
			t.Fatal(err)
		}
		return usage.Resident >> 20
	}
	empty := resident()
	f := prepare(t, hook.Answering(t, oneConfigMap))
	name := func(i int) string { return fmt.Sprintf("p%d", i) }
	client := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	errs := make([]error, controllers)
	started := time.Now()
	workqueue.ParallelizeUntil(t.Context(), 8, controllers, func(i int) {
		_, controllerErr := client.Create(t.Context(), &v1alpha1.CompositeController{
			ObjectMeta: metav1.ObjectMeta{Name: harness.Name("test")},
			Spec: f.spec(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"of": name(i)}}
			}),
		}, metav1.CreateOptions{})
		_, parentErr := f.ParentClient().Create(t.Context(), &unstructured.Unstructured{Object: object{
			"apiVersion": f.Parents.GroupVersion().String(), "kind": "Thing",
			"metadata": object{"name": name(i), "labels": object{"of": name(i)}}, "spec": object{"value": "0"},
		}}, metav1.CreateOptions{})
		errs[i] = errors.Join(controllerErr, parentErr)
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	created := time.Since(started)
	env.Within(t, max(2*time.Minute, 3*created), allReady(controllers)) // who takes long to create them may take long to start them
	ready := time.Since(started)
	for i := range controllers {
		f.timeUntilValue(name(i), "0")
	}
	t.Logf("%d controllers are created in %s and all are ready after %s; the server goes from %d to %d MiB", controllers, created, ready, empty, resident())

	var took []time.Duration
	for i := range edits {
		parent := name(i * controllers / edits)
		f.set(parent, "1")
		took = append(took, f.timeUntilValue(parent, "1"))
	}
	slices.Sort(took)
	t.Logf("an edit takes %s at the median and %s at worst", took[edits/2], took[edits-1])
	if took[edits/2] > time.Second || took[edits-1] > 5*time.Second { // one of many may meet a busy machine
		t.Errorf("beside %d controllers edits take too long", controllers)
	}

	if err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	env.WaitForGoroutines(t, before)
}

// allReady returns a check that as many controllers exist as expected, and that all are ready.
func allReady(count int) func(context.Context) error {
	return func(ctx context.Context) error {
		list, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for i := range list.Items {
			if meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
				ready++
			}
		}
		if ready != count {
			return fmt.Errorf("%d of %d controllers are ready", ready, count)
		}
		return nil
	}
}
