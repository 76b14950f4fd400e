// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// Local is what this replica has.
type Local interface {
	// Replica returns the name of this replica.
	Replica(ctx context.Context) (string, error)
	FollowSyncs(ctx context.Context, tell func(changed []*v1alpha1.Sync, gone []types.NamespacedName) error) error
	FollowHookCalls(ctx context.Context, tell func(changed []*v1alpha1.HookCall, gone []types.NamespacedName) error) error
	HookCall(ctx context.Context, name types.NamespacedName) (*v1alpha1.HookCall, []rights.Required, error)
	RequestSyncs(ctx context.Context, of v1alpha1.ControllerReference, spec *v1alpha1.ResyncRequestSpec, onlyCount bool) (v1alpha1.ResyncRequestStatus, error)
}

// NewHandler returns what serves the peers of a replica. Its caller lets only peers through.
func NewHandler(local Local) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+syncsPath, func(w http.ResponseWriter, r *http.Request) { stream(w, r, local.FollowSyncs) })
	mux.HandleFunc("GET "+hookCallsPath, func(w http.ResponseWriter, r *http.Request) { stream(w, r, local.FollowHookCalls) })
	mux.HandleFunc("GET "+hookCallsPath+"/{namespace}/{name}", func(w http.ResponseWriter, r *http.Request) {
		call, required, err := local.HookCall(r.Context(), types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")})
		if err == nil && call == nil {
			http.Error(w, "the call is not kept any more", http.StatusNotFound)
			return
		}
		answer(w, r, callAnswer{call, required}, err)
	})
	mux.HandleFunc("POST "+resyncPath, func(w http.ResponseWriter, r *http.Request) {
		var question resyncQuestion
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		found, err := local.RequestSyncs(r.Context(), question.Controller, &question.Spec, question.OnlyCount)
		answer(w, r, found, err)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replica, err := local.Replica(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set(replicaHeader, replica)
		mux.ServeHTTP(w, r)
	})
}

// IsStream reports whether a request is answered for as long as its client listens.
func IsStream(r *http.Request) bool {
	return r.Method == http.MethodGet && slices.Contains([]string{syncsPath, hookCallsPath}, r.URL.Path)
}

func answer(w http.ResponseWriter, r *http.Request, with any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(with); err != nil {
		klog.FromContext(r.Context()).V(2).Info("Failed to answer another replica", "err", err)
	}
}

// stream writes what follow tells, until it ends or the client does not listen any more. The client may be slow. The
// stream ends if the client takes nothing for as long as silence: the controller loop cannot end while follow waits for a client.
func stream[T memory.Object](w http.ResponseWriter, r *http.Request, follow func(context.Context, func([]T, []types.NamespacedName) error) error) {
	ctx, cancel := context.WithCancel(r.Context())
	messages, ended := make(chan []byte), make(chan struct{})
	go func() {
		defer close(ended)
		err := follow(ctx, func(changed []T, gone []types.NamespacedName) error { return send(ctx, messages, changed, gone) })
		klog.FromContext(ctx).V(4).Info("Another replica is told nothing more", "err", err)
	}()
	defer func() { cancel(); <-ended }()
	w.Header().Set("Content-Type", "application/json")
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	controller := http.NewResponseController(w)
	for {
		var next []byte
		select {
		case next = <-messages:
		case <-alive.C:
			next = []byte(`{"alive":true}` + "\n")
		case <-ended:
			return
		case <-ctx.Done():
			return
		}
		if err := controller.SetWriteDeadline(time.Now().Add(silence)); err != nil {
			return
		}
		if _, err := w.Write(next); err != nil {
			return
		}
		if err := controller.Flush(); err != nil {
			return
		}
	}
}

// send sends what has changed in messages that are not too large.
func send[T memory.Object](ctx context.Context, messages chan<- []byte, changed []T, gone []types.NamespacedName) error {
	for {
		next := message[T]{Changed: changed[:min(len(changed), maxObjects)], Gone: gone}
		changed, gone = changed[len(next.Changed):], nil
		next.More = len(changed) > 0
		var body bytes.Buffer
		if err := json.NewEncoder(&body).Encode(next); err != nil {
			return err
		}
		select {
		case messages <- body.Bytes():
		case <-ctx.Done():
			return ctx.Err()
		}
		if !next.More {
			return nil
		}
	}
}
