// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// readTimeout is how long the host may take to send a Secret or ConfigMap.
const readTimeout = 10 * time.Second

// build makes a controller that is ready to run.
func (r *Reconciler) build(ctx context.Context, object declared, spec *hosted.Spec) (*hosted.Controller, error) {
	next, err := hosted.New(r.Dependencies, spec)
	if err != nil {
		return nil, err
	}
	ctx, cancel := withReadTimeout(ctx)
	defer cancel()
	if err := next.Connect(ctx, object); err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

func withReadTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, readTimeout, fmt.Errorf("no answer within %s", readTimeout))
}

// awaitSource has a controller looked at again when the Secret or ConfigMap changes that
// keeps it from being run. It tells whether there is such a one and it can be followed.
func (r *Reconciler) awaitSource(ctx context.Context, entry *controllerEntry, err error) bool {
	// What is followed until now goes on until its successor is: they may be the same.
	if entry.stopFollowing != nil {
		defer entry.stopFollowing()
		entry.stopFollowing = nil
	}
	unusable, ok := errors.AsType[*hook.SourceError](err)
	if !ok {
		return false
	}
	ctx, cancel := withReadTimeout(ctx)
	defer cancel()
	stop, err := r.Watches.Follow(ctx, unusable.Type, unusable.Name, func(now *object.Object) {
		if version(now) != unusable.ResourceVersion {
			r.queue.Forget(entry.name)
			r.queue.Add(entry.name)
		}
	})
	if err != nil {
		return false // the host refuses, which is what the controller's problem says already
	}
	entry.stopFollowing = stop
	return true
}

// version is the resource version of an object, empty if there is none.
func version(of *object.Object) string {
	if of == nil {
		return ""
	}
	return of.ResourceVersion
}

// stopWaiting ends what awaitSource began.
func (h *controllerEntry) stopWaiting() {
	if h.stopFollowing != nil {
		h.stopFollowing()
		h.stopFollowing = nil
	}
}
