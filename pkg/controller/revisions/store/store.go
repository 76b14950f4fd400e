// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store reads and writes the ControllerRevisions in the own API, which are the
// memory of rolling updates.
package store

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// Store shows the revisions of all parents from a cache, and writes them. It has to be run.
type Store struct {
	client    versioned.Interface
	informers externalversions.SharedInformerFactory
	cache     cache.SharedIndexInformer

	// records are those of the revisions, by UID, as the informer last told them. A sync that
	// comes before makes one of its own.
	mu      sync.RWMutex
	records map[types.UID]*revisions.Stored
}

// The indices of the cache.
const (
	byController = "controller"
	orphans      = "orphans"
)

// New makes a store of the API that the client and the informers are of. The informers are run by the store, and by
// nobody else.
func New(client versioned.Interface, informers externalversions.SharedInformerFactory) (*Store, error) {
	s := &Store{
		client: client, informers: informers, cache: informers.Metacontroller().V1alpha1().ControllerRevisions().Informer(),
		records: map[types.UID]*revisions.Stored{},
	}
	if err := s.cache.AddIndexers(cache.Indexers{byController: controllerOf, orphans: orphanIn}); err != nil {
		return nil, fmt.Errorf("index ControllerRevisions: %w", err)
	}
	_, err := s.cache.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: s.keep, UpdateFunc: func(_, after any) { s.keep(after) }, DeleteFunc: s.drop,
	})
	if err != nil {
		return nil, fmt.Errorf("follow ControllerRevisions: %w", err)
	}
	return s, nil
}

func (s *Store) keep(obj any) {
	revision := obj.(*v1alpha1.ControllerRevision)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[revision.UID] = revisions.NewStored(revision)
}

func (s *Store) drop(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, obj.(*v1alpha1.ControllerRevision).UID)
}

// record is that of a revision out of the cache.
func (s *Store) record(revision *v1alpha1.ControllerRevision) *revisions.Stored {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if known := s.records[revision.UID]; known != nil && known.ControllerRevision == revision {
		return known
	}
	return revisions.NewStored(revision)
}

func controllerOf(obj any) ([]string, error) {
	if controller := metav1.GetControllerOfNoCopy(obj.(*v1alpha1.ControllerRevision)); controller != nil {
		return []string{string(controller.UID)}, nil
	}
	return nil, nil
}

func orphanIn(obj any) ([]string, error) {
	revision := obj.(*v1alpha1.ControllerRevision)
	if metav1.GetControllerOfNoCopy(revision) == nil {
		return []string{revision.Namespace}, nil
	}
	return nil, nil
}

// Run fills the cache and keeps it up to date until ctx ends.
func (s *Store) Run(ctx context.Context) {
	s.informers.StartWithContext(ctx)
	<-ctx.Done()
	s.informers.Shutdown()
}

// WaitForSync waits until the cache is filled. It tells whether it is, and not ctx has ended.
func (s *Store) WaitForSync(ctx context.Context) bool {
	if s.cache.HasSynced() {
		return true // as it is for all controllers but the first, each of which would log that it waits
	}
	return cache.WaitFor(ctx, "ControllerRevisions", s.cache.HasSyncedChecker())
}

// For returns the revisions that may be those of the parent with that UID: the ones it
// controls, and the ones in the namespace that nobody does.
func (s *Store) For(parent types.UID, namespace string) ([]*revisions.Stored, error) {
	var found []*revisions.Stored
	for _, at := range []struct{ index, value string }{{byController, string(parent)}, {orphans, namespace}} {
		objects, err := s.cache.GetIndexer().ByIndex(at.index, at.value)
		if err != nil {
			return nil, fmt.Errorf("read ControllerRevisions: %w", err)
		}
		for _, object := range objects {
			if revision := object.(*v1alpha1.ControllerRevision); revision.Namespace == namespace {
				found = append(found, s.record(revision))
			}
		}
	}
	return found, nil
}

// Write makes one change, and has pending wait until the cache shows it. It is of no effect,
// and an error, if the revision is no longer as it was read.
func (s *Store) Write(ctx context.Context, pending *Pending, write revisions.Write) error {
	revision := write.Revision
	client := s.client.MetacontrollerV1alpha1().ControllerRevisions(revision.Namespace)
	stored := revision
	var err error
	switch write.Op {
	case pipeline.Create:
		stored, err = client.Create(ctx, revision, metav1.CreateOptions{})
	case pipeline.Update:
		stored, err = client.Update(ctx, revision, metav1.UpdateOptions{})
	case pipeline.Delete:
		err = client.Delete(ctx, revision.Name, *metav1.NewPreconditionDeleteOptions(string(revision.UID)))
	}
	if err != nil {
		return fmt.Errorf("can't %s ControllerRevision %s/%s: %w", write.Op, revision.Namespace, revision.Name, err)
	}
	pending.add(write.Op, stored)
	return nil
}
