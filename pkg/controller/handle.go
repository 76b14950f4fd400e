// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNotRunning is the error of a Handle while the process runs no controllers: it has just started, is
// about to stop, or is no replica at the moment. The API answers with it as it is.
var ErrNotRunning error = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
	Message: "the controllers of this server do not run at the moment; try again in a few seconds",
	Details: &metav1.StatusDetails{RetryAfterSeconds: 2},
}}

// Handle reaches the controller loop of this process while it runs. The API answers with it what only
// the loop knows. The zero value reaches nothing until a loop runs with it. Its methods may be called
// concurrently.
type Handle struct {
	mu sync.Mutex
	// running is nil while no loop runs. ended is the context that ends with it.
	running *loop
	ended   context.Context
	// users counts the calls of do that have not returned.
	users sync.WaitGroup
}

// use calls do with what runs. The context of do ends when the loop ends, and the loop does not end
// before do has returned. use returns ErrNotRunning if no loop runs.
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

// open lets the loop be used until ctx ends. The caller then has to call close, which returns when
// nothing uses the loop any more. A nil handle reaches nothing.
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
