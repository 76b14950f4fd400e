// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

func (w *world) sites() dynamic.ResourceInterface {
	return w.env.Dynamic.Resource(site.GroupVersion.WithResource(site.Resource)).Namespace(site.Namespace)
}

// createSites creates sites with the numbers from begin to end, end not included.
func (w *world) createSites(ctx context.Context, begin, end int, spec site.Spec) error {
	return parallel(ctx, end-begin, func(ctx context.Context, i int) error { return w.createSite(ctx, siteName(begin+i), spec) })
}

func siteName(number int) string { return fmt.Sprintf("site%d", number) }

func (w *world) createSite(ctx context.Context, name string, spec site.Spec) error {
	body, err := json.Marshal(&site.Site{
		TypeMeta:   metav1.TypeMeta{APIVersion: site.GroupVersion.String(), Kind: site.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       spec,
	})
	if err != nil {
		return err
	}
	return w.client().Post().AbsPath(site.SitesPath).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
}

func (w *world) client() rest.Interface { return w.env.Kube.CoreV1().RESTClient() }

// patchSite applies a JSON merge patch to a site.
func (w *world) patchSite(ctx context.Context, name, patch string) error {
	return w.client().Patch(types.MergePatchType).AbsPath(site.SitesPath, name).Body([]byte(patch)).Do(ctx).Error()
}

// patchSites applies a JSON merge patch to the sites with the first numbers.
func (w *world) patchSites(ctx context.Context, count int, patch string) error {
	return parallel(ctx, count, func(ctx context.Context, i int) error { return w.patchSite(ctx, siteName(i), patch) })
}

// clean removes all sites and pages, while no contestant is there to make them anew.
func (w *world) clean(ctx context.Context) error {
	// The pages first: those of a site that is gone the garbage collector looks up one after the other.
	err := w.env.Kube.CoreV1().ConfigMaps(site.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: site.Label})
	if err != nil {
		return err
	}
	if err := w.pages.wait(ctx, func(seen *pages) bool { return len(seen.values) == 0 }); err != nil {
		return err
	}
	return w.sites().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// parallel does so many things, some of them at once, and stops at the first error.
func parallel(ctx context.Context, count int, do func(ctx context.Context, i int) error) error {
	const atOnce = 20
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range count {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}
