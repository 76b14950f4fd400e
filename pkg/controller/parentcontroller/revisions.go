// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions/store"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// revisionWriter writes the ControllerRevisions of parents.
type revisionWriter struct {
	store       *store.Store
	actor       *act.Actor
	permissions *permissions.Permissions
	// account is the service account of the controller; nil if it has none.
	account *v1alpha1.ServiceAccountReference
}

// write writes ControllerRevisions one after the other. No child may be written before.
func (w *revisionWriter) write(
	ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, writes []revisions.Write,
) error {
	if len(writes) == 0 {
		return nil
	}
	if err := w.mayWrite(ctx, snapshot, writes[0]); err != nil {
		return err
	}
	if state.revisions == nil {
		state.revisions = &store.OwnWrites{}
	}
	mayAdopt := sync.OnceValue(func() error { return w.actor.MayAdopt(ctx, snapshot) })
	for _, write := range writes {
		if write.Adopts {
			if err := mayAdopt(); err != nil {
				return err
			}
		}
		err := w.store.Write(ctx, state.revisions, write)
		switch {
		case err == nil, planner.LacksNamespace(err) && snapshot.Parent.DeletionTimestamp != nil:
			// The revisions of a namespace may be deleted before the parents in it are finalized. Then
			// the parents have to be finalized without them, or the namespace would never be deleted.
		case isOvertaken(write, err):
			klog.FromContext(ctx).V(2).Info("ControllerRevision has changed since it was read; the next sync decides again",
				"err", err)
			return &overtakenError{"ControllerRevision " + write.Revision.Namespace + "/" + write.Revision.Name}
		default:
			return err
		}
	}
	return nil
}

// mayWrite returns an error unless the controller's service account may update the status of the parent, or the parent
// if it has no status. The server writes the ControllerRevisions of a parent for all its controllers, and a controller
// that forgets at which revision a child is ends the rollout of another one. So this is a write to the parent, and the
// right to read the parent is not enough. write is the first one.
func (w *revisionWriter) mayWrite(ctx context.Context, snapshot *pipeline.Snapshot, write revisions.Write) error {
	account := w.account
	if account == nil {
		return nil
	}
	needed := rights.Right{Verb: "update", Object: rights.Object{GroupResource: snapshot.ParentType.GroupResource(),
		Namespace: snapshot.Parent.Namespace}}
	if snapshot.ParentType.StatusSubresource {
		needed.Subresource = "status"
	}
	doing := fmt.Sprintf("can't %s ControllerRevision %s/%s", write.Op, write.Revision.Namespace, write.Revision.Name)
	switch allowed, err := w.permissions.Allows(ctx, *account, needed); {
	case err != nil:
		return fmt.Errorf("%s: %w", doing, err)
	case !allowed:
		return &act.MissingRightError{Missing: needed, Err: fmt.Errorf("%s: service account %s/%s may not update %s, "+
			"which is required to write its revisions", doing, account.Namespace, account.Name, snapshot.Parent)}
	}
	return nil
}

// isSeen reports whether the cache shows the writes for a parent.
func (w *revisionWriter) isSeen(state *parentState) bool {
	return state.revisions == nil || w.store.DropSeen(state.revisions)
}

// isOvertaken reports whether a write failed because the ControllerRevision has changed since it was read.
func isOvertaken(write revisions.Write, err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) && write.Op != pipeline.Create
}
