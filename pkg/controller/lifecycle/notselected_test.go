// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/fake"
)

func TestAControllerThatIsNoLongerSelectedIsToldSo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failure error
		times   int32
	}{
		"also if others overtake the write": {apierrors.NewConflict(schema.GroupResource{Resource: "compositecontrollers"}, "shop", errors.New("it has changed")), 10},
		"also if the storage has failed":    {errors.New("etcdserver: leader changed"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries, told, own := &atomic.Int32{}, &atomic.Bool{}, fake.NewSimpleClientset()
			own.PrependReactor("update", "compositecontrollers", func(action clienttesting.Action) (bool, runtime.Object, error) {
				object := action.(clienttesting.UpdateAction).GetObject().(*v1alpha1.CompositeController)
				ready := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
				if ready == nil || ready.Reason != v1alpha1.ReasonNotSelected {
					return false, nil, nil
				}
				if tries.Add(1) > test.times {
					told.Store(true)
					return false, nil, nil
				}
				return true, nil, test.failure
			})
			f := newFixtureWith(t, own)
			f.create(t, controllerOf("shop", pods))
			f.untilReady(t, "shop", "True Running")
			waitUntil(t, func() string { return "its status is not written" }, func() bool {
				// as if a selector had been in the watch, which would leave out its status, too
				if object, err := f.api.get("shop"); err == nil {
					if err := f.api.informer().GetStore().Delete(object); err != nil {
						t.Fatal(err)
					}
					f.queue.Add("shop")
				}
				return told.Load()
			})
		})
	}
}
