// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// announce logs how many controllers there are, as soon as that is known, and whether this process shares
// them with others.
func announce(ctx context.Context, informers externalversions.SharedInformerFactory, shared bool) {
	objects := informers.Metacontroller().V1alpha1()
	composites, decorators := objects.CompositeControllers().Informer(), objects.DecoratorControllers().Informer()
	if cache.WaitForCacheSync(ctx.Done(), composites.HasSynced, decorators.HasSynced) {
		klog.FromContext(ctx).Info("Running the controllers",
			"shared", shared, "compositeControllers", len(composites.GetStore().ListKeys()), "decoratorControllers", len(decorators.GetStore().ListKeys()))
	}
}
