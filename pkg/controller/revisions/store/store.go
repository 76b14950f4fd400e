// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// Store reads the revisions of all parents from an informer, and writes them. The caller must call Run.
type Store struct {
	client    versioned.Interface
	informers externalversions.SharedInformerFactory
	cache     cache.SharedIndexInformer

	// stored has the revisions by UID, as the event handler last saw them, so that each is parsed once. A sync that runs
	// before the event handler makes its own Stored.
	mu     sync.RWMutex
	stored map[types.UID]*revisions.Stored
	// creating are the revisions that Write creates, until the event handler has seen them.
	creating sets.Set[cache.ObjectName]
	// followers are called with each revision that others create.
	followers sets.Set[*Follower]
}

// Follower is called with a revision that was created by something else than Write, such as the restore of a backup.
type Follower func(*v1alpha1.ControllerRevision)

// The indexes of the informer.
const (
	byController = "controller"
	orphans      = "orphans"
)

// New returns a store for the API of the client and the informers. The store runs the informers; nothing else may.
func New(client versioned.Interface, informers externalversions.SharedInformerFactory) (*Store, error) {
	s := &Store{
		client: client, informers: informers, cache: informers.Metacontroller().V1alpha1().ControllerRevisions().Informer(),
		stored: map[types.UID]*revisions.Stored{}, creating: sets.New[cache.ObjectName](), followers: sets.New[*Follower](),
	}
	if err := s.cache.AddIndexers(cache.Indexers{byController: controllerOf, orphans: namespaceOfOrphan}); err != nil {
		return nil, fmt.Errorf("index ControllerRevisions: %w", err)
	}
	_, err := s.cache.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: s.added, UpdateFunc: func(_, after any) { s.keep(after) }, DeleteFunc: s.drop,
	})
	if err != nil {
		return nil, fmt.Errorf("watch ControllerRevisions: %w", err)
	}
	return s, nil
}

func (s *Store) added(obj any, isInInitialList bool) {
	s.keep(obj)
	revision := obj.(*v1alpha1.ControllerRevision)
	if name := cache.MetaObjectToName(revision); isInInitialList || s.takeCreating(name) {
		return
	}
	s.mu.RLock()
	followers := s.followers.UnsortedList()
	s.mu.RUnlock()
	for _, follower := range followers {
		(*follower)(revision)
	}
}

// takeCreating reports whether Write creates a revision, and forgets that.
func (s *Store) takeCreating(name cache.ObjectName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	creates := s.creating.Has(name)
	s.creating.Delete(name)
	return creates
}

// Follow calls a follower until stop is called.
func (s *Store) Follow(follower Follower) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers.Insert(&follower)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.followers.Delete(&follower)
	}
}

func (s *Store) keep(obj any) {
	revision := obj.(*v1alpha1.ControllerRevision)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[revision.UID] = revisions.NewStored(revision)
}

func (s *Store) drop(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stored, obj.(*v1alpha1.ControllerRevision).UID)
}

// storedOf returns the Stored of a revision that the informer shows.
func (s *Store) storedOf(revision *v1alpha1.ControllerRevision) *revisions.Stored {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if stored := s.stored[revision.UID]; stored != nil && stored.ControllerRevision == revision {
		return stored
	}
	return revisions.NewStored(revision)
}

func controllerOf(obj any) ([]string, error) {
	if controller := metav1.GetControllerOfNoCopy(obj.(*v1alpha1.ControllerRevision)); controller != nil {
		return []string{string(controller.UID)}, nil
	}
	return nil, nil
}

func namespaceOfOrphan(obj any) ([]string, error) {
	revision := obj.(*v1alpha1.ControllerRevision)
	if metav1.GetControllerOfNoCopy(revision) == nil {
		return []string{revision.Namespace}, nil
	}
	return nil, nil
}

// Run runs the informer until ctx is done.
func (s *Store) Run(ctx context.Context) {
	s.informers.StartWithContext(ctx)
	<-ctx.Done()
	s.informers.Shutdown()
}

// HasSynced reports whether the informer has synced.
func (s *Store) HasSynced() bool { return s.cache.HasSynced() }

// WaitForSync waits until the informer has synced or ctx is done. It reports whether the informer
// has synced.
func (s *Store) WaitForSync(ctx context.Context) bool {
	if s.HasSynced() {
		return true // without the log message of WaitFor, which each parent controller would write
	}
	return cache.WaitFor(ctx, "ControllerRevisions", s.cache.HasSyncedChecker())
}

// For returns the revisions in the namespace that may belong to the parent with that UID: revisions that it controls,
// and orphans.
func (s *Store) For(parent types.UID, namespace string) ([]*revisions.Stored, error) {
	var found []*revisions.Stored
	for _, at := range []struct{ index, value string }{{byController, string(parent)}, {orphans, namespace}} {
		objects, err := s.cache.GetIndexer().ByIndex(at.index, at.value)
		if err != nil {
			return nil, fmt.Errorf("read ControllerRevisions: %w", err)
		}
		for _, object := range objects {
			if revision := object.(*v1alpha1.ControllerRevision); revision.Namespace == namespace {
				found = append(found, s.storedOf(revision))
			}
		}
	}
	return found, nil
}

// Write makes one change and adds it to writes, where it stays until the informer shows it. It fails and
// changes nothing if the revision has changed since it was read.
func (s *Store) Write(ctx context.Context, writes *OwnWrites, write revisions.Write) error {
	name := cache.MetaObjectToName(write.Revision)
	if write.Op == pipeline.Create {
		s.mu.Lock()
		s.creating.Insert(name)
		s.mu.Unlock()
	}
	stored, err := s.send(ctx, write, nil)
	if err != nil {
		s.takeCreating(name)
		return err
	}
	writes.add(write.Op, stored)
	return nil
}

// DryRun makes one change as a dry run.
func (s *Store) DryRun(ctx context.Context, write revisions.Write) error {
	_, err := s.send(ctx, write, []string{metav1.DryRunAll})
	return err
}

// send makes one change. It returns the stored revision or, after a deletion, the deleted one.
func (s *Store) send(
	ctx context.Context, write revisions.Write, dryRun []string,
) (stored *v1alpha1.ControllerRevision, err error) {
	revision := write.Revision
	client := s.client.MetacontrollerV1alpha1().ControllerRevisions(revision.Namespace)
	stored = revision
	switch write.Op {
	case pipeline.Create:
		stored, err = client.Create(ctx, revision, metav1.CreateOptions{DryRun: dryRun})
	case pipeline.Update:
		stored, err = client.Update(ctx, revision, metav1.UpdateOptions{DryRun: dryRun})
	case pipeline.Delete:
		options := metav1.NewPreconditionDeleteOptions(string(revision.UID))
		options.DryRun = dryRun
		err = client.Delete(ctx, revision.Name, *options)
	}
	if err != nil {
		return nil, fmt.Errorf("can't %s ControllerRevision %s/%s: %w", write.Op, revision.Namespace, revision.Name, err)
	}
	return stored, nil
}

// OwnWrites are the writes of one parent's syncs that the informer may not show yet. The zero value is empty.
// It is not safe for concurrent use.
type OwnWrites struct{ writes []ownWrite }

// ownWrite has the data that identifies a write in the informer. It does not keep the revision, which may be as large
// as the parent, because the parent's next sync may be far away.
type ownWrite struct {
	name cache.ObjectName
	// version is the resource version after the write, or empty for a deletion.
	version string
	// deleted is the UID of the deleted revision; empty if it was not deleted.
	deleted types.UID
}

// add adds a write. The revision is the stored one or, after a deletion, the deleted one.
func (w *OwnWrites) add(op pipeline.Op, revision *v1alpha1.ControllerRevision) {
	write := ownWrite{name: cache.MetaObjectToName(revision)}
	if op == pipeline.Delete {
		write.deleted = revision.UID
	} else {
		write.version = revision.ResourceVersion
	}
	w.writes = append(w.writes, write)
}

// DropSeen drops the writes that the informer shows. It reports whether none is left.
func (s *Store) DropSeen(writes *OwnWrites) bool {
	writes.writes = slices.DeleteFunc(writes.writes, s.shows)
	if len(writes.writes) == 0 {
		writes.writes = nil
	}
	return writes.writes == nil
}

// shows reports whether the informer shows the write or a later one.
func (s *Store) shows(write ownWrite) bool {
	if write.deleted == "" {
		latest := s.cache.GetIndexer().LastStoreSyncResourceVersion()
		order, err := resourceversion.CompareResourceVersion(latest, write.version)
		return err != nil || order >= 0
	}
	object, there, err := s.cache.GetIndexer().GetByKey(write.name.String())
	if err != nil || !there {
		return true
	}
	cached := object.(*v1alpha1.ControllerRevision)
	return cached.UID != write.deleted || cached.DeletionTimestamp != nil
}
