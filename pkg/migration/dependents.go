// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/pager"
)

// dependents returns what belongs to objects by their UIDs. The copies have other UIDs, so the garbage collector
// would delete it.
func (m *Migration) dependents(ctx context.Context, all objects) (found []string, err error) {
	owners := map[types.UID]bool{}
	for _, of := range all {
		owners[of.GetUID()] = true
	}
	lists, err := m.kube.Discovery().ServerPreferredResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("ask the cluster for its types: %w", err)
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "get", "delete"}}, lists)
	resources, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return nil, err
	}
	for resource := range resources {
		pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return m.metadata.Resource(resource).List(ctx, options)
		})
		err := pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
			of := item.(*metav1.PartialObjectMetadata)
			if slices.ContainsFunc(of.OwnerReferences, func(owner metav1.OwnerReference) bool { return owners[owner.UID] }) {
				found = append(found, fmt.Sprintf("%s %s", resource.GroupResource(), types.NamespacedName{Namespace: of.Namespace,
					Name: of.Name}))
			}
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			m.say("cannot look for %s that belong to controllers: %s", resource.GroupResource(), err)
		}
	}
	slices.Sort(found)
	return found, nil
}
