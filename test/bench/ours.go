// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// ours is a CompositeController. The server runs all the time.
type ours struct{ world *world }

func (o *ours) name() string { return ourName }

func (o *ours) isOurs() bool { return true }

func (o *ours) callsHook() bool { return true }

func (o *ours) start(ctx context.Context, w *world) error {
	o.world = w
	_, err := w.env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Create(ctx, o.controller("bench", w.hook.url()), metav1.CreateOptions{})
	return err
}

func (o *ours) controller(name, url string) *v1alpha1.CompositeController {
	return &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.CompositeControllerSpec{
			ParentResource:   v1alpha1.CompositeControllerParentResourceRule{ResourceRule: v1alpha1.ResourceRule{APIVersion: site.GroupVersion.String(), Resource: site.Resource}},
			GenerateSelector: ptr.To(true),
			ChildResources: []v1alpha1.CompositeControllerChildResourceRule{{
				ResourceRule:   v1alpha1.ResourceRule{APIVersion: "v1", Resource: "configmaps"},
				UpdateStrategy: &v1alpha1.CompositeControllerChildUpdateStrategy{Method: new(v1alpha1.ChildUpdateInPlace)},
			}},
			Hooks: &v1alpha1.CompositeControllerHooks{Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(url)}}},
		},
	}
}

func (o *ours) stop(ctx context.Context) error {
	controllers := o.world.env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	if err := controllers.Delete(ctx, "bench", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return poll.Within(ctx, patience, func(ctx context.Context) error {
		_, err := controllers.Get(ctx, "bench", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the CompositeController is still there (%w)", err)
	})
}

func (o *ours) pid() int { return o.world.env.Server.PID() }

func (o *ours) exited() error { return o.world.env.Server.Exited() }

func (o *ours) done() <-chan struct{} { return o.world.env.Server.Done() }
