// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// ErrNotRunning is the error of a Handle while the process runs no controllers: it has just started, is about to
// stop, or does not lead. The API returns it unchanged.
var ErrNotRunning error = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
	Message: "the controllers of this server do not run at the moment; try again in a few seconds",
	Details: &metav1.StatusDetails{RetryAfterSeconds: 2},
}}

// Handle gives the API access to the controller loop of this process while it runs. The zero value gives access to
// nothing until a loop runs with it. Its methods may be called concurrently.
type Handle struct {
	mu sync.Mutex
	// running is nil while no loop runs. ended is the context that ends with it.
	running *loop
	ended   context.Context
	// users counts the calls of do that have not returned.
	users sync.WaitGroup
}

// use calls do with the running loop. The context of do ends when the loop ends, and the loop does not end before do
// has returned. use returns ErrNotRunning if no loop runs.
func (h *Handle) use(ctx context.Context, do func(context.Context, *loop) error) error {
	h.mu.Lock()
	running, ended := h.running, h.ended
	if running == nil || ended.Err() != nil {
		h.mu.Unlock()
		return ErrNotRunning
	}
	h.users.Add(1)
	h.mu.Unlock()
	defer h.users.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ended, func() { cancel(ErrNotRunning) })()
	return do(ctx, running)
}

// open lets the loop be used until ctx ends. The caller must then call close, which returns when nothing uses the
// loop. A nil handle does nothing.
func (h *Handle) open(ctx context.Context, running *loop) (close func()) {
	if h == nil {
		return func() {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running, h.ended = running, ctx
	return func() {
		h.mu.Lock()
		h.running, h.ended = nil, nil
		h.mu.Unlock()
		h.users.Wait()
	}
}

// tell is called with objects that were added or changed, and with the names of those that are gone.
type tell[T any] = func(changed []T, gone []types.NamespacedName) error

// FollowSyncs passes on the Syncs of all parents in one call, and then the Syncs that have changed and the names of
// deleted ones, until ctx ends, the loop ends or tell returns an error. It returns the reason. The Syncs belong to
// tell.
func (h *Handle) FollowSyncs(ctx context.Context, tell tell[*v1alpha1.Sync]) error {
	return h.use(ctx, func(ctx context.Context, l *loop) error { return l.dependencies.Syncs.Follow(ctx, tell) })
}

// FollowHookCalls is FollowSyncs for the last calls of hooks, without their bodies.
func (h *Handle) FollowHookCalls(ctx context.Context, tell tell[*v1alpha1.HookCall]) error {
	return h.use(ctx, func(ctx context.Context, l *loop) error { return l.dependencies.Calls.Follow(ctx, tell) })
}

// HookCall returns a call with its bodies, and the permissions that a user needs to see it. It returns nil if the
// call is no longer kept.
func (h *Handle) HookCall(
	ctx context.Context, name types.NamespacedName,
) (found *v1alpha1.HookCall, required []rights.Required, err error) {
	err = h.use(ctx, func(_ context.Context, l *loop) error {
		found, required = l.dependencies.Calls.Get(name)
		return nil
	})
	return found, required, err
}

// ReviewSyncs sets the status of a review, whose spec is valid. The warnings are for its author. The
// error is one of the API: ErrNotRunning if no loop runs.
func (h *Handle) ReviewSyncs(
	ctx context.Context, author rights.User, review *v1alpha1.SyncReview,
) (warnings []string, err error) {
	err = h.use(ctx, func(ctx context.Context, running *loop) (err error) {
		warnings, err = running.reviews.Answer(ctx, author, review)
		return err
	})
	return warnings, err
}

// RequestSyncs enqueues the selected parents of a controller, or only counts them. It returns how many there are, and
// how many more are paused.
func (h *Handle) RequestSyncs(
	ctx context.Context, of v1alpha1.ControllerReference, spec *v1alpha1.ResyncRequestSpec, onlyCount bool,
) (found v1alpha1.ResyncRequestStatus, err error) {
	selection, err := selectionOf(spec)
	if err != nil {
		return found, err
	}
	err = h.use(ctx, func(_ context.Context, l *loop) error {
		for _, reconciler := range l.reconcilers {
			if reconciler.Kind() == of.Kind {
				found = reconciler.RequestSyncs(of.Name, selection, onlyCount)
			}
		}
		return nil
	})
	return found, err
}

// selectionOf returns the parents that a request is about.
func selectionOf(spec *v1alpha1.ResyncRequestSpec) (parentcontroller.Selection, error) {
	if one := spec.Parent; one != nil {
		return parentcontroller.Selection{
			APIVersion: one.APIVersion, Kind: one.Kind, Namespace: one.Namespace, IsExact: true, Name: one.Name,
		}, nil
	}
	if spec.Parents == nil {
		return parentcontroller.Selection{}, errors.New("neither parent nor parents is set")
	}
	selection := parentcontroller.Selection{Namespace: spec.Parents.Namespace}
	if spec.Parents.LabelSelector == nil {
		return selection, nil
	}
	selected, err := metav1.LabelSelectorAsSelector(spec.Parents.LabelSelector)
	selection.Labels = selected
	return selection, err
}
