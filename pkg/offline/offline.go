// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package offline answers SyncReviews of objects from files, without a cluster. It runs the controllers' code against
// an in-process host. The objects of that host never change. The host has the types of Kubernetes and of
// CustomResourceDefinitions. Types completes objects as a cluster would: with a UID, a version, and the defaults of
// custom resources.
package offline

import (
	"context"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/review"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Reviewer answers SyncReviews. It does not redact Secrets.
type Reviewer struct{ reviews *review.Reviews }

// With calls do with a Reviewer of objects, which types must have completed: controllers, parents and others. strategy
// is the default for children whose rule does not have one. It returns the error of do.
func With(ctx context.Context, types *Types, objects []*unstructured.Unstructured,
	strategy controller.ApplyStrategy, do func(context.Context, *Reviewer) error) error {
	host, err := newStaticHost(types, objects)
	if err != nil {
		return err
	}
	config := controller.Config{Host: host.config(), Loopback: host.config(), Metrics: prometheus.NewRegistry(),
		Options: controller.DefaultOptions()}
	config.Namespace, config.ApplyStrategy = Namespace, strategy
	ctx = klog.NewContext(ctx, logr.Discard())
	return controller.WithReviews(ctx, config, func(ctx context.Context, reviews *review.Reviews) error {
		return do(ctx, &Reviewer{reviews})
	})
}

// Namespace is the namespace of ControllerRevisions of cluster-scoped parents.
const Namespace = "metacontroller"

// Create carries out a review.
func (r *Reviewer) Create(ctx context.Context, review *v1alpha1.SyncReview,
	_ metav1.CreateOptions) (*v1alpha1.SyncReview, error) {
	answered := review.DeepCopy()
	_, err := r.reviews.Answer(ctx, rights.User{Name: "offline", Groups: []string{"system:masters"}}, answered)
	return answered, err
}
