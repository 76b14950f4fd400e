// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Scanner finds the finalizers of one kind of controllers that another process left on objects.
//
// One scan lists all objects of a resource. Its result is valid for all controllers that exist when
// the scan begins, as long as they exist: a finalizer that this process puts on an object later is
// noted in the status of the controller, and needs no scan. A controller that is created after the
// scan has begun needs a new one.
type Scanner struct {
	// find lists the objects of a resource and returns the finalizers on them.
	find func(ctx context.Context, rule v1alpha1.ResourceRule) (sets.Set[string], error)
	// existing returns the controllers of the kind that exist.
	existing func() sets.Set[types.UID]

	mu sync.Mutex
	// scans are the last scans of each resource.
	scans map[schema.GroupResource]*scan
}

// NewScanner returns a Scanner of the finalizers whose names begin with the prefix. existing
// returns the controllers of the kind that exist.
func (d *Drainer) NewScanner(prefix string, existing func() sets.Set[types.UID]) *Scanner {
	find := func(ctx context.Context, rule v1alpha1.ResourceRule) (sets.Set[string], error) {
		return d.findInTurn(ctx, rule, prefix)
	}
	return &Scanner{find: find, existing: existing, scans: map[schema.GroupResource]*scan{}}
}

// findInTurn returns the finalizers on objects of a resource. If there are more objects than can be
// listed in one turn, it returns the finalizers on the first of them.
func (d *Drainer) findInTurn(ctx context.Context, rule v1alpha1.ResourceRule, prefix string) (sets.Set[string], error) {
	limited, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	found, err := d.find(limited, rule, prefix)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Info("Too many objects to search all of them for finalizers that were left behind",
			"apiVersion", rule.APIVersion, "resource", rule.Resource)
		return found, nil
	}
	return found, err
}

// find returns the finalizers on objects of a resource whose names begin with the prefix. If it
// fails, it returns the finalizers that it has found before, and the error. It reads metadata only.
func (d *Drainer) find(ctx context.Context, rule v1alpha1.ResourceRule, prefix string) (sets.Set[string], error) {
	of, served, err := d.resolve(ctx, rule)
	if !served {
		return nil, err
	}
	found := sets.New[string]()
	err = d.Client.MetadataPages(ctx, of, prefix, func(page []metav1.PartialObjectMetadata) error {
		for _, parent := range page {
			for _, finalizer := range parent.Finalizers {
				if strings.HasPrefix(finalizer, prefix) {
					found.Insert(finalizer)
				}
			}
		}
		return ctx.Err()
	})
	return found, err
}

// scan is one list of all objects of a resource.
type scan struct {
	// covers are the controllers that the result is valid for.
	covers sets.Set[types.UID]
	// done is closed when found and err are known.
	done chan struct{}
	// found are the finalizers on the objects, except the removed ones. The mutex of the Scanner
	// guards found and removed.
	found sets.Set[string]
	// removed are the finalizers that were removed since the scan began. The scan may have passed
	// objects before that.
	removed sets.Set[string]
	err     error
}

// Search reports whether a controller's finalizer is, or may be, on objects of a resource. It runs
// a new scan only if no earlier one covers the controller.
func (s *Scanner) Search(ctx context.Context, rule v1alpha1.ResourceRule, controller types.UID, finalizer string) (bool, error) {
	for {
		last, isNew := s.scanFor(rule, controller)
		if isNew {
			s.run(ctx, rule, last)
		}
		select {
		case <-last.done:
		case <-ctx.Done():
			return false, failed(rule, context.Cause(ctx))
		}
		if !last.covers.Has(controller) {
			continue // it began before the controller was created
		}
		if last.err != nil {
			return false, failed(rule, last.err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return last.found.Has(finalizer), nil
	}
}

// scanFor returns the last scan of a resource. If that one is over and does not cover the
// controller, it returns a new one, which the caller runs.
func (s *Scanner) scanFor(rule v1alpha1.ResourceRule, controller types.UID) (last *scan, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last = s.scans[rule.GroupResource()]
	if last != nil && (!last.isOver() || last.covers.Has(controller)) {
		return last, false
	}
	last = &scan{covers: s.existing().Insert(controller), done: make(chan struct{}), removed: sets.New[string]()}
	s.scans[rule.GroupResource()] = last
	return last, true
}

func (s *scan) isOver() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// run runs a scan. A panic ends it with an error.
func (s *Scanner) run(ctx context.Context, rule v1alpha1.ResourceRule, current *scan) {
	var found sets.Set[string]
	err := errors.New("the search for finalizers that were left behind did not end")
	defer func() { s.end(rule, current, found, err) }()
	found, err = s.find(ctx, rule)
}

// end stores the result of a scan. A scan that failed is forgotten, so that the next Search
// begins a new one.
func (s *Scanner) end(rule v1alpha1.ResourceRule, ended *scan, found sets.Set[string], err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended.found, ended.err = found.Difference(ended.removed), err
	if ended.err != nil {
		delete(s.scans, rule.GroupResource())
	}
	close(ended.done)
}

// Removed notes that a finalizer was removed from all objects of a resource.
func (s *Scanner) Removed(rule v1alpha1.ResourceRule, finalizer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.scans[rule.GroupResource()]; last != nil {
		last.found.Delete(finalizer)
		last.removed.Insert(finalizer) // the scan may still be running
	}
}
