// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

var (
	webs = pipeline.Type{
		GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "webs"}, Kind: "Web",
		Namespaced: true, StatusSubresource: true,
	}
	pods = pipeline.Type{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true, StatusSubresource: true,
	}
)

// specOf is the spec of a controller for all Webs with a sync hook.
func specOf(webhook v1alpha1.Webhook, children ...pipeline.Type) *Spec {
	return &Spec{
		Kind: Kind{
			Name: "CompositeController", FinalizerPrefix: "metacontroller.io/compositecontroller-",
			Ask: (*hook.Webhook).SyncComposite, Plan: plan.Composite, Inputs: plan.CompositeInputs,
		},
		Name: "webs", Object: []byte(`{}`),
		Targets:  []Target{{Type: webs, Rules: []observe.Rule{{Labels: labels.Everything()}}}},
		Children: children, Claims: observe.NewLabelClaims(true),
		Sync: &v1alpha1.Hook{Webhook: &webhook},
	}
}

func at(url string) v1alpha1.Webhook { return v1alpha1.Webhook{URL: &url} }

// snapshotOf begins the snapshot of a parent.
func snapshotOf(name string) *pipeline.Snapshot {
	return &pipeline.Snapshot{Parent: &object.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: "ctl.example/v1", Kind: "Web"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
	}}
}

// web is the key of a parent.
func web(name string) pipeline.Key {
	return pipeline.Key{GroupKind: webs.GroupKind(), NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
}

// controllerAt makes the controller of a spec at a host, and waits until it has seen what is there.
func controllerAt(t testing.TB, config *rest.Config, dependencies Dependencies, spec *Spec) *Controller {
	t.Helper()
	client, err := host.NewClient(config, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	dependencies.Watches, dependencies.Workers = cache.NewInformers(ctx, client, 0), 1
	dependencies.Actor = &act.Actor{Writer: host.NewWriter(client, 1), Parallel: 1}
	c, err := New(dependencies, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, watch := range c.watches() {
		if err := watch.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return c
}
