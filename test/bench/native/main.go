// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command native is an operator for sites as one writes it by hand with controller-runtime: typed, with
// controllerutil.CreateOrUpdate for each page, as the Kubebuilder book does it, and without a webhook.
package main

import (
	"context"
	"fmt"
	"maps"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

func main() {
	kubeconfig := pflag.String("kubeconfig", "", "How to reach the cluster.")
	workers := pflag.Int("workers", 0, "How many sites are reconciled at once.")
	pflag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), *kubeconfig, *workers); err != nil {
		klog.Background().Error(err, "The operator has failed")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
}

func run(ctx context.Context, kubeconfig string, workers int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	if err := site.AddToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).For(&site.Site{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&reconciler{Client: manager.GetClient()})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// reconciler gives sites their pages.
type reconciler struct{ client.Client }

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	parent := &site.Site{}
	if err := r.Get(ctx, request.NamespacedName, parent); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	for _, desired := range parent.Pages() {
		page := &corev1.ConfigMap{}
		page.Namespace, page.Name = parent.Namespace, desired.Name
		_, err := controllerutil.CreateOrUpdate(ctx, r.Client, page, func() error {
			if page.Labels == nil {
				page.Labels = map[string]string{}
			}
			maps.Copy(page.Labels, desired.Labels)
			page.Data = desired.Data
			return controllerutil.SetControllerReference(parent, page, r.Scheme())
		})
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	if parent.Status.ObservedGeneration == parent.Generation {
		return ctrl.Result{}, nil
	}
	before := parent.DeepCopyObject().(*site.Site)
	parent.Status.ObservedGeneration = parent.Generation
	return ctrl.Result{}, r.Status().Patch(ctx, parent, client.MergeFrom(before))
}
