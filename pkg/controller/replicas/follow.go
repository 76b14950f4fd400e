// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// follow notes what the Leases of the group say, as they change, until ctx ends.
func (m *Membership) follow(ctx context.Context) {
	factory := informers.NewSharedInformerFactoryWithOptions(m.config.Client, 0, informers.WithNamespace(m.config.Namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = GroupLabel + "=" + m.config.Group }))
	_, err := factory.Coordination().V1().Leases().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { m.see(obj.(*coordinationv1.Lease)) },
		UpdateFunc: func(_, obj any) { m.see(obj.(*coordinationv1.Lease)) },
		DeleteFunc: func(obj any) {
			if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
				m.note(m.replicaOf(name.Name), absent())
			}
		},
	})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to follow the Leases of other replicas") // an informer that was not started does not fail
		return
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
}
