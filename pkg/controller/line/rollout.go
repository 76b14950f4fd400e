// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package line

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/rollout"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// rollOut asks about all versions of a parent that its children are at, stores at which of
// them each is to be, and makes one answer of the answers.
func (c *Controller) rollOut(ctx context.Context, memory *memory, snapshot *stage.Snapshot, webhook *hook.Webhook) (*stage.Response, error) {
	stored, err := c.revisionsOf(snapshot)
	if err != nil {
		return nil, err
	}
	open, err := rollout.Open(c.spec.Rollout, snapshot, stored)
	if err != nil {
		return nil, err
	}
	responses, err := c.askAll(ctx, memory, snapshot, open.Revisions, webhook)
	if err != nil {
		return nil, err
	}
	decision, err := open.Decide(responses, plan.UpToDate(snapshot, c.strategies, &memory.settled), time.Now())
	if err != nil {
		return nil, err
	}
	if err := c.storeRevisions(ctx, memory, snapshot, decision.Writes); err != nil {
		return nil, err
	}
	next := c.tellRollout(memory, snapshot.Parent, decision, time.Now())
	decision.Response.ResyncAfter = sooner(decision.Response.ResyncAfter, next)
	return decision.Response, nil
}

// abandon removes what is left of rollouts of a parent whose children do not roll any more.
func (c *Controller) abandon(ctx context.Context, memory *memory, snapshot *stage.Snapshot) error {
	stored, err := c.revisionsOf(snapshot)
	if err != nil || len(stored) == 0 {
		return err
	}
	return c.storeRevisions(ctx, memory, snapshot, rollout.Abandon(snapshot, stored))
}

func (c *Controller) revisionsOf(snapshot *stage.Snapshot) ([]*v1alpha1.ControllerRevision, error) {
	return c.Revisions.For(snapshot.Parent.UID, c.spec.Rollout.NamespaceOf(snapshot.Parent))
}

// askAll asks about all versions of a parent at once.
func (c *Controller) askAll(ctx context.Context, memory *memory, snapshot *stage.Snapshot, revisions []*rollout.Revision, webhook *hook.Webhook) ([]*stage.Response, error) {
	for _, gone := range memory.keepEarlier(revisions[1:]) {
		c.forgetAnswer(gone)
	}
	responses, errs := make([]*stage.Response, len(revisions)), make([]error, len(revisions))
	var asking sync.WaitGroup
	for i, revision := range revisions[1:] {
		about := *snapshot
		about.Parent, about.Earlier = revision.Parent, true
		asking.Go(func() {
			defer recoverInto(ctx, &errs[i+1])
			response, err := c.askRelated(ctx, memory.earlier[revision.Name], webhook, &about)
			if err != nil {
				err = fmt.Errorf("about the parent as of ControllerRevision %s: %w", revision.Name, err)
			}
			responses[i+1], errs[i+1] = response, err
		})
	}
	responses[0], errs[0] = c.askRelated(ctx, &memory.related, webhook, snapshot)
	asking.Wait()
	return responses, joined(errs)
}

// recoverInto makes a panic an error.
func recoverInto(ctx context.Context, err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("panic: %v", panicked)
		klog.FromContext(ctx).Error(*err, "Sync panicked", "stack", string(debug.Stack()))
	}
}

// storeRevisions makes writes in their order. No child may be written before all are made.
func (c *Controller) storeRevisions(ctx context.Context, memory *memory, snapshot *stage.Snapshot, writes []rollout.Write) error {
	mayAdopt := sync.OnceValue(func() error { return c.Actor.MayAdopt(ctx, snapshot) })
	for _, write := range writes {
		if write.Adopts {
			if err := mayAdopt(); err != nil {
				return err
			}
		}
		err := c.Revisions.Write(ctx, &memory.revisions, write)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			klog.FromContext(ctx).V(2).Info("A ControllerRevision changed meanwhile, the next sync sees how", "err", err)
			return errOvertaken
		}
		if err != nil && !isPointless(err, snapshot.Parent) {
			return err
		}
	}
	return nil
}

// isPointless tells whether a revision could not be made because its namespace is being deleted,
// with the parent in it. The namespace's revisions may go before the parent is finalized, and
// it has to be: else it would keep the namespace for ever.
func isPointless(err error, parent *object.Object) bool {
	return parent.DeletionTimestamp != nil && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
