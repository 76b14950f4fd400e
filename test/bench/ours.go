// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// ours is a CompositeController. The server runs all the time.
type ours struct {
	world *world
	// inline is true if the hook is written in the controller.
	inline bool
}

func (o *ours) name() string {
	if o.inline {
		return inlineName
	}
	return ourName
}

func (o *ours) isOurs() bool { return true }

func (o *ours) callsHook() bool { return !o.inline }

func (o *ours) start(ctx context.Context, w *world) error {
	o.world = w
	controller := o.controller("bench", w.hook.url())
	if o.inline {
		sync := &v1alpha1.InlineHook{}
		if err := yaml.UnmarshalStrict([]byte(inlinePages()), sync); err != nil {
			return err
		}
		controller.Spec.Hooks.Sync = &v1alpha1.Hook{Inline: sync}
	}
	controllers := w.env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	_, err := controllers.Create(ctx, controller, metav1.CreateOptions{})
	return err
}

// inlinePages is the hook of the benchmark as an inline hook. All pages have the same text.
func inlinePages() string {
	return fmt.Sprintf(`
children:
- forEach: {number: lists.range(parent.spec.pages)}
  object:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${parent.metadata.name}-${number}", labels: {%s: "${parent.metadata.name}"}}
    data: {%s: "${parent.spec.value}", text: %q}
`, site.Label, site.ValueKey, site.Text("inline", kilobyte))
}

// evaluations is how often the inline hook of a contestant was evaluated; 0 if it has none.
func evaluations(ctx context.Context, of contestant) (count float64, err error) {
	own, _ := of.(*ours)
	if own == nil || !own.inline {
		return 0, nil
	}
	families, err := own.world.env.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	requests := families["metacontroller_sync_requests_total"]
	for _, series := range harness.Series(requests, "controller_name", "bench", "code", "200") {
		count += series.GetCounter().GetValue()
	}
	return count, nil
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
