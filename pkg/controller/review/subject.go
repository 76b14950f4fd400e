// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/preview"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// subject is the controller that is reviewed.
type subject struct {
	reconciler *lifecycle.Reconciler
	of         parentcontroller.ControllerObject
	// running is the controller that runs with the reviewed spec; nil if none does.
	running *parentcontroller.Controller
	// temporary is one that was made for the review; nil if none was needed yet. Release is called at the end.
	temporary *parentcontroller.Controller
	release   func()
}

// findSubject finds the controller of the review: with the stored spec, or with the candidate.
func (r *reviewing) findSubject(ctx context.Context) (*subject, error) {
	named := r.spec.Controller
	of := schema.GroupResource{Group: v1alpha1.GroupName, Resource: resources[named.Kind]}
	controller := rights.Object{GroupResource: of, Name: named.Name}
	required := rights.To(controller, "spec.controller", "get")
	if r.spec.Request != nil && r.spec.Candidate == nil {
		required = append(required, rights.To(controller, "spec.request", "update")...)
	}
	if err := r.permit.check(ctx, required); err != nil {
		return nil, err
	}
	found := &subject{reconciler: r.reconcilers[named.Kind], release: func() {}}
	stored, err := found.reconciler.Live(ctx, named.Name)
	switch {
	case apierrors.IsNotFound(err) && r.spec.Candidate != nil:
		stored = nil
	case err != nil:
		return nil, err
	}
	r.isStored = stored != nil
	api := &ownAPI{r.loopback, r.author, r.spec}
	if r.spec.Candidate != nil {
		found.of, r.isAuthor, r.warnings, err = api.candidate(ctx, stored)
		return found, err
	}
	if r.spec.Request != nil {
		if err := api.mayUpdate(ctx, stored); err != nil {
			return nil, err
		}
	}
	found.of, found.running = stored, found.reconciler.Running(stored)
	return found, nil
}

// controller returns the previewer of the controller that runs, or of a temporary one. It sees all parents.
func (s *subject) controller(ctx context.Context) (_ *preview.Previewer, runs bool, err error) {
	if s.running != nil {
		return s.running.Previews, true, s.filled(ctx, s.running)
	}
	if s.temporary == nil {
		temporary, release, err := s.reconciler.Temporary(ctx, s.of)
		if err != nil {
			return nil, false, cannotRun(ctx, s.of, s.reconciler.Kind(), err)
		}
		s.temporary, s.release = temporary, release
	}
	return s.temporary.Previews, false, nil
}

// filled waits until a controller that runs sees all objects of its types.
func (s *subject) filled(ctx context.Context, running *parentcontroller.Controller) error {
	if err := running.WaitForCaches(ctx); err != nil {
		return cannotRun(ctx, s.of, s.reconciler.Kind(), err)
	}
	return nil
}

// cannotRun returns the API error for a controller that cannot preview anything.
func cannotRun(ctx context.Context, of parentcontroller.ControllerObject, kind string, err error) error {
	if _, ok := errors.AsType[*discovery.Error](err); ok {
		return unavailable(err.Error())
	}
	if ctx.Err() != nil {
		return apierrors.NewTimeoutError(err.Error(), int(retryAfter.Seconds()))
	}
	return apierrors.NewConflict(schema.GroupResource{Group: v1alpha1.GroupName, Resource: resources[kind]}, of.GetName(),
		fmt.Errorf("the controller cannot run with this spec: %w", err))
}
