// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions/store"
)

// storeRevisions writes ControllerRevisions one after the other. No child may be written before.
func (c *Controller) storeRevisions(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, writes []revisions.Write) error {
	if len(writes) == 0 {
		return nil
	}
	if err := c.mayWriteRevisions(ctx, snapshot, writes[0]); err != nil {
		return err
	}
	if state.revisions == nil {
		state.revisions = &store.OwnWrites{}
	}
	mayAdopt := sync.OnceValue(func() error { return c.Actor.MayAdopt(ctx, snapshot) })
	for _, write := range writes {
		if write.Adopts {
			if err := mayAdopt(); err != nil {
				return err
			}
		}
		err := c.Revisions.Write(ctx, state.revisions, write)
		switch {
		case err == nil, planner.LacksNamespace(err) && snapshot.Parent.DeletionTimestamp != nil:
			// The revisions of a namespace may be deleted before the parents in it are finalized. Then
			// the parents have to be finalized without them, or the namespace would never be deleted.
		case isOvertaken(write, err):
			klog.FromContext(ctx).V(2).Info("ControllerRevision has changed since it was read, the next sync decides again", "err", err)
			return &overtakenError{"ControllerRevision " + write.Revision.Namespace + "/" + write.Revision.Name}
		default:
			return err
		}
	}
	return nil
}

// isOvertaken reports whether a write failed because the ControllerRevision is no longer as it was
// read.
func isOvertaken(write revisions.Write, err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) && write.Op != pipeline.Create
}

// confirmsChild reports whether a step shows by its result that a child is as it should be. A
// rollout that waits for the child can go on then. If the step changed nothing, no event leads to
// that sync.
func confirmsChild(outcome pipeline.Outcome) bool {
	return outcome.Result != nil && outcome.Op.MayChangeNothing()
}

// leavesChild reports whether a step wrote a child and the host left it as it was. If the rollout has just moved that child, no
// event leads to the sync in which the rollout goes on.
func leavesChild(outcome pipeline.Outcome) bool {
	return !outcome.Op.OnParent() && outcome.Result != nil && !outcome.StoredAnew()
}
