// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// removal is the task to remove a finalizer from all objects of some resources. It passes through the resources one
// after the other. A pass does not end at an error. The next pass continues where the host did not answer, and starts
// again with resources some of whose objects kept the finalizer.
type removal struct {
	drainer   *Drainer
	finalizer string
	// why is the reason for removing the finalizer.
	why pipeline.UnfinalizedReason
	// as says as which account the finalizer is removed.
	as        Remover
	resources []v1alpha1.ResourceRule
	notify    func()

	// canceled ends when the removal is no longer wanted.
	canceled context.Context
	cancel   context.CancelFunc

	// turns has room for one turn at a time. Only its holder uses places and former.
	turns  chan struct{}
	places []*place
	// former is the removal that this one replaces; nil if there is none, or it is known to have ended.
	former *removal

	// The mutex of the Drainer guards the result. err is the error of the last pass.
	done bool
	err  error
}

func newRemoval(
	d *Drainer, finalizer string, why pipeline.UnfinalizedReason, as Remover,
	resources []v1alpha1.ResourceRule, notify func(),
) *removal {
	r := &removal{
		drainer: d, finalizer: finalizer, why: why, as: as, resources: slices.Clone(resources), notify: notify,
		turns: make(chan struct{}, 1),
	}
	r.canceled, r.cancel = context.WithCancel(context.Background())
	for _, rule := range resources {
		r.places = append(r.places, &place{rule: rule})
	}
	return r
}

// stop ends the removal, and waits for its current turn and for the turn of the former one.
func (r *removal) stop() {
	r.cancel()
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
	r.stopFormer()
}

// stopFormer waits until the former removal has ended. The caller holds turns.
func (r *removal) stopFormer() {
	if r.former != nil {
		r.former.stop()
		r.former = nil
	}
}

// turn removes the finalizer from the next objects.
func (r *removal) turn(ctx context.Context) result {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
	r.stopFormer()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.canceled, cancel)()
	if r.canceled.Err() != nil {
		return ended
	}
	if next := r.next(); next != nil {
		next.visit(ctx, r)
	}
	if ctx.Err() != nil {
		return ended
	}
	if r.next() != nil {
		return goesOn
	}
	err := r.endPass()
	r.setResult(err)
	if err != nil {
		return failing
	}
	return ended
}

// next returns the first resource that the pass has not been through; nil if there is none.
func (r *removal) next() *place {
	for _, place := range r.places {
		if !place.passed {
			return place
		}
	}
	return nil
}

// endPass prepares the next pass. It returns why one is needed; nil if it is not.
func (r *removal) endPass() error {
	var first error
	for _, place := range r.places {
		if err := place.endPass(r.finalizer); err != nil && first == nil {
			first = failed(place.rule, err)
		}
	}
	return first
}

func (r *removal) fail(err error) { r.setResult(err) }

func (r *removal) setResult(err error) {
	r.drainer.mu.Lock()
	r.done, r.err = err == nil, err
	r.drainer.mu.Unlock()
	r.notify()
}

// place is the point that a removal has reached in a resource.
type place struct {
	rule v1alpha1.ResourceRule
	// of is the type of the resource, as it was last found. pages are its objects; nil before the
	// first one.
	of    object.Type
	pages *host.Pages
	// left are the objects of the last page that wait for their turn.
	left []*object.Object
	// passed is true if this pass has nothing left to do.
	passed bool
	// unanswered is the error of listing the next page, or nil.
	unanswered error
	// failures counts the objects that still have the finalizer, of the pages so far. failure is the error of the
	// first one.
	failures int
	failure  error
}

// objectsPerTurn limits from how many objects one turn removes the finalizer. The host may take long for each, and
// other removals wait during that time.
const objectsPerTurn = 50

// visit removes the finalizer from the next objects.
func (p *place) visit(ctx context.Context, r *removal) {
	d, finalizer := r.drainer, r.finalizer
	of, served, err := d.resolve(ctx, p.rule)
	if !served {
		p.passed, p.unanswered = true, err
		return
	}
	if p.of != of {
		klog.FromContext(ctx).Info("Removing finalizer from parents", "finalizer", finalizer,
			"apiVersion", p.rule.APIVersion, "resource", p.rule.Resource)
		p.of, p.pages, p.left = of, nil, nil
	}
	if p.pages == nil {
		p.pages = d.client.Pages(of, finalizer)
	}
	if len(p.left) == 0 {
		// Whole objects, because an update removes the finalizer.
		if p.left, err = p.pages.Next(ctx); err != nil {
			p.passed, p.unanswered = true, err
			return
		}
	}
	next := p.left[:min(len(p.left), objectsPerTurn)]
	p.left = p.left[len(next):]
	failures := d.remove(ctx, of, finalizer, r.why, r.as, next)
	if p.failures == 0 && len(failures) > 0 {
		p.failure = failures[0]
	}
	p.failures += len(failures)
	p.passed = len(p.left) == 0 && p.pages.Done()
}

// endPass prepares the next pass. It returns why one is needed; nil if it is not.
func (p *place) endPass(finalizer string) (err error) {
	switch {
	case p.unanswered != nil:
		err = p.unanswered
		p.passed, p.unanswered = false, nil
	case p.failures > 0:
		err = fmt.Errorf("objects that keep the finalizer %s: %d; the first: %w", finalizer, p.failures, p.failure)
		*p = place{rule: p.rule, of: p.of}
	}
	return err
}
