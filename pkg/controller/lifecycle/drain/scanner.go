// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Scanner finds the finalizers of one kind of controllers that another process left on objects.
//
// One scan lists all objects of a resource. Its result is valid for all controllers that exist when
// the scan begins, as long as they exist: a finalizer that this process puts on an object later is
// noted in the status of the controller, and needs no scan. A controller that is created after the
// scan has begun needs a new one.
type Scanner struct {
	queue *queue
	// read returns a reader of the finalizers on the objects of a resource.
	read func(rule v1alpha1.ResourceRule) finalizers
	// existing returns the controllers of the kind that exist.
	existing func() sets.Set[types.UID]

	mu sync.Mutex
	// scans are the last scans of each resource.
	scans map[schema.GroupResource]*scan
}

// finalizers are the finalizers on the objects of a resource.
type finalizers interface {
	// next returns those on the objects of the next page, and whether it was the last. After an
	// error, the same page is read again.
	next(ctx context.Context) (found []string, last bool, err error)
}

// NewScanner returns a Scanner of the finalizers whose names begin with the prefix. It works while the Drainer runs.
// existing returns the controllers of the kind that exist.
func (d *Drainer) NewScanner(prefix string, existing func() sets.Set[types.UID]) *Scanner {
	read := func(rule v1alpha1.ResourceRule) finalizers {
		return &finalizersOf{drainer: d, prefix: prefix, rule: rule}
	}
	return &Scanner{queue: d.queue, read: read, existing: existing, scans: map[schema.GroupResource]*scan{}}
}

// finalizersOf reads the finalizers on objects of a resource whose names begin with the prefix. It
// reads metadata only.
type finalizersOf struct {
	drainer *Drainer
	prefix  string
	rule    v1alpha1.ResourceRule
	of      object.Type
	pages   *host.Pages
}

func (f *finalizersOf) next(ctx context.Context) (found []string, last bool, err error) {
	of, served, err := f.drainer.resolve(ctx, f.rule)
	if !served {
		return nil, err == nil, err
	}
	if f.pages == nil || f.of != of {
		f.of, f.pages = of, f.drainer.client.Pages(of, f.prefix)
	}
	page, err := f.pages.NextMetadata(ctx)
	for _, parent := range page {
		for _, finalizer := range parent.Finalizers {
			if strings.HasPrefix(finalizer, f.prefix) {
				found = append(found, finalizer)
			}
		}
	}
	return found, f.pages.Done(), err
}

// scan is the task to list all objects of a resource. The mutex of the Scanner guards the fields
// below covers.
type scan struct {
	scanner  *Scanner
	resource schema.GroupResource
	objects  finalizers
	// covers are the controllers that the result is valid for.
	covers sets.Set[types.UID]

	// isOver is true when found is complete. err is the error of the last turn.
	isOver bool
	err    error
	// waiting are the controllers that wait for the end, and how to notify them.
	waiting map[types.UID]func()
	// found are the finalizers on the objects, except the removed ones.
	found sets.Set[string]
	// removed are the finalizers that were removed since the scan began. The scan may have passed their objects before.
	removed sets.Set[string]
}

// Search reports whether a controller's finalizer is, or may be, on objects of a resource. It does not wait: done
// reports whether that is known. The error says why the search has failed so far; the search continues. notify is
// called when the answer is known, and after each failure. Search begins a new scan only if no earlier one covers
// the controller.
func (s *Scanner) Search(
	rule v1alpha1.ResourceRule, controller types.UID, finalizer string, notify func(),
) (found, done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.scans[rule.GroupResource()]
	if last == nil || last.isOver && !last.covers.Has(controller) {
		last = &scan{
			scanner: s, resource: rule.GroupResource(), objects: s.read(rule), covers: s.existing().Insert(controller),
			waiting: map[types.UID]func(){}, found: sets.New[string](), removed: sets.New[string](),
		}
		s.scans[rule.GroupResource()] = last
		s.queue.add(last)
	}
	if last.isOver {
		return last.found.Has(finalizer), true, nil
	}
	last.waiting[controller] = notify
	if last.err != nil {
		return false, false, failed(rule, last.err)
	}
	return false, false, nil
}

// turn reads a page. A scan ends when no controller waits for it any longer.
func (s *scan) turn(ctx context.Context) result {
	if s.dropUnwanted() {
		return ended
	}
	found, last, err := s.objects.next(ctx)
	if ctx.Err() != nil {
		return ended
	}
	if err != nil {
		s.fail(err)
		return failing
	}
	s.scanner.mu.Lock()
	s.err, s.isOver = nil, last
	s.found = s.found.Insert(found...).Difference(s.removed)
	s.scanner.mu.Unlock()
	if !last {
		return goesOn
	}
	s.notify()
	return ended
}

// dropUnwanted drops the scan if the controllers that wait for it are gone, and reports whether it did.
func (s *scan) dropUnwanted() bool {
	s.scanner.mu.Lock()
	defer s.scanner.mu.Unlock()
	existing := s.scanner.existing()
	for controller := range s.waiting {
		if existing.Has(controller) {
			return false
		}
	}
	if s.scanner.scans[s.resource] == s {
		delete(s.scanner.scans, s.resource)
	}
	return true
}

func (s *scan) fail(err error) {
	s.scanner.mu.Lock()
	s.err = err
	s.scanner.mu.Unlock()
	s.notify()
}

// notify calls notify of each controller that waits for the scan.
func (s *scan) notify() {
	s.scanner.mu.Lock()
	defer s.scanner.mu.Unlock()
	for _, notify := range s.waiting {
		notify()
	}
	if s.isOver {
		s.waiting = nil
	}
}

// Removed records that a finalizer was removed from all objects of a resource.
func (s *Scanner) Removed(rule v1alpha1.ResourceRule, finalizer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.scans[rule.GroupResource()]; last != nil {
		last.found.Delete(finalizer)
		last.removed.Insert(finalizer) // the scan may still be running
	}
}
