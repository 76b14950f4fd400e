// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// mayWriteRevisions returns an error unless the controller's service account may update the status of the
// parent, or the parent if it has no status. The server writes the ControllerRevisions of a parent for all its
// controllers, and who forgets at which revision a child is ends the rollout of another one. So this is a write
// to the parent, which whoever may only read it must not make. Write is the first that is to be made.
func (c *Controller) mayWriteRevisions(ctx context.Context, snapshot *pipeline.Snapshot, write revisions.Write) error {
	account := c.spec.Access.ServiceAccount
	if account == nil {
		return nil
	}
	needed := rights.Right{Verb: "update", Object: rights.Object{GroupResource: snapshot.ParentType.GroupResource(), Namespace: snapshot.Parent.Namespace}}
	if snapshot.ParentType.StatusSubresource {
		needed.Subresource = "status"
	}
	doing := fmt.Sprintf("can't %s ControllerRevision %s/%s", write.Op, write.Revision.Namespace, write.Revision.Name)
	switch allowed, err := c.Permissions.Allows(ctx, *account, needed); {
	case err != nil:
		return fmt.Errorf("%s: %w", doing, err)
	case !allowed:
		return &act.MissingRightError{Missing: needed, Err: fmt.Errorf("%s: service account %s/%s may not update %s, "+
			"and the revisions of a parent are for those who may", doing, account.Namespace, account.Name, snapshot.Parent)}
	}
	return nil
}
