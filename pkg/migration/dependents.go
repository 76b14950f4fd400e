// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/pager"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
)

// Nobody can choose the UID of an object of a definition. So what was created here, or is not in the definitions any more, gets
// another UID there, and the garbage collector would delete what belongs to it by the one that it has here.

// CollectedError is the error of objects that the garbage collector would delete after the way back.
type CollectedError struct{ Objects []string }

func (e *CollectedError) Error() string {
	return fmt.Sprintf("the garbage collector would delete %s that belong to controllers by UIDs that these do not have in the definitions: %s; "+
		"take the metadata.ownerReferences off them, or go on with --force", counted(len(e.Objects), "object"), enumerate.First(maxNamed, e.Objects))
}

// ensureNothingCollected returns a *CollectedError if something belongs to an object that will have another UID in the definitions.
func (m *Migration) ensureNothingCollected(ctx context.Context) error {
	stored, err := m.stored(ctx)
	if err != nil {
		return err
	}
	there, err := m.read(ctx, copyVersion)
	if err != nil {
		return err
	}
	renewed := map[types.UID]bool{}
	var names []string
	for _, of := range stored {
		if _, keeps := there[of.uid]; !keeps && !of.deleted && !of.namespaced {
			renewed[of.uid] = true
			names = append(names, of.String())
		}
	}
	if len(renewed) == 0 {
		return nil
	}
	slices.Sort(names)
	m.say("%s with a new UID in the definitions: %s", counted(len(names), "controller"), enumerate.First(maxNamed, names))
	if m.config.Force {
		return nil
	}
	dependents, err := m.dependentsOf(ctx, renewed)
	if err != nil {
		return err
	}
	if len(dependents) > 0 {
		return &CollectedError{dependents}
	}
	return nil
}

// dependentsOf returns the objects of the cluster that have an owner with one of the UIDs.
func (m *Migration) dependentsOf(ctx context.Context, owners map[types.UID]bool) (found []string, err error) {
	lists, err := m.kube.Discovery().ServerPreferredResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("ask the cluster for its types: %w", err)
	}
	if err != nil {
		m.say("not all types of the cluster are known: %s", err)
	}
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelImports)
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "get", "delete"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, of := range list.APIResources {
			group.Go(func() error {
				names, err := m.dependentsIn(groupCtx, version.WithResource(of.Name), owners)
				mu.Lock()
				defer mu.Unlock()
				found = append(found, names...)
				return err
			})
		}
	}
	err = group.Wait()
	slices.Sort(found)
	return found, err
}

// dependentsIn returns those of a type.
func (m *Migration) dependentsIn(ctx context.Context, resource schema.GroupVersionResource, owners map[types.UID]bool) (found []string, err error) {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return m.metadata.Resource(resource).List(ctx, options)
	})
	err = pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		of := item.(*metav1.PartialObjectMetadata)
		if slices.ContainsFunc(of.OwnerReferences, func(owner metav1.OwnerReference) bool { return owners[owner.UID] }) {
			found = append(found, fmt.Sprintf("%s %s", resource.GroupResource(), types.NamespacedName{Namespace: of.Namespace, Name: of.Name}))
		}
		return nil
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
		return nil, fmt.Errorf("look for %s that belong to controllers: %w", resource.GroupResource(), err)
	}
	return found, nil
}

// ensureVersionsRise returns an error if resource versions would fall on the way back: who watches from one that he got here would not see
// what happens in the definitions until they have risen to it.
func (m *Migration) ensureVersionsRise(ctx context.Context) error {
	for _, kind := range kinds() {
		here, err := m.versionOf(ctx, kind.in(servedVersion))
		if err != nil {
			return err
		}
		there, err := m.versionOf(ctx, kind.in(copyVersion))
		if err != nil {
			return err
		}
		if here >= there && !m.config.Force {
			return fmt.Errorf("the resource version of the %s is %d here and %d in the cluster, so who watches them would miss changes there: "+
				"restart these programs afterwards, and go on with --force", kind.resource, here, there)
		}
	}
	return nil
}

func (m *Migration) versionOf(ctx context.Context, resource schema.GroupVersionResource) (uint64, error) {
	list, err := m.dynamic.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, fmt.Errorf("read the resource version of %s: %w", resource, err)
	}
	return strconv.ParseUint(list.GetResourceVersion(), 10, 64)
}
