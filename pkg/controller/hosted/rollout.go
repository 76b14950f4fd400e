// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// callHooksOfRollout calls the hook about each version of the parent that its children are at.
func (c *Controller) callHooksOfRollout(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, webhook *hook.Webhook) (*hookResponses, error) {
	stored, err := c.revisionsOf(snapshot)
	if err != nil {
		return nil, err
	}
	open, err := rollout.Open(c.spec.Rollout, snapshot, stored, &state.ensureRollout().versions)
	if err != nil {
		return nil, err
	}
	responses, err := c.callHookPerRevision(ctx, state, snapshot, open.Revisions, webhook)
	return &hookResponses{responses: responses, rollout: open}, err
}

// decide combines the responses into one, and returns it with the writes to ControllerRevisions
// that must come before those to children. Without a rollout there is only one response.
func (c *Controller) decide(state *parentState, snapshot *pipeline.Snapshot, responses *hookResponses, now time.Time) (*rollout.Decision, error) {
	if responses.rollout == nil {
		writes, err := c.abandon(snapshot)
		return &rollout.Decision{Response: responses.responses[0], Writes: writes}, err
	}
	return responses.rollout.Decide(responses.responses, plan.UpToDate(snapshot, c.strategies, &state.upToDate), now)
}

// abandon returns the writes that remove what earlier rollouts have left behind, if the controller
// no longer rolls out any child type.
func (c *Controller) abandon(snapshot *pipeline.Snapshot) ([]revisions.Write, error) {
	if rules := c.spec.Rollout; rules == nil || len(rules.Kinds) > 0 {
		return nil, nil
	}
	stored, err := c.revisionsOf(snapshot)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	return rollout.Abandon(snapshot, stored), nil
}

// revisionsOf returns the ControllerRevisions of the parent.
func (c *Controller) revisionsOf(snapshot *pipeline.Snapshot) ([]*revisions.Stored, error) {
	return c.Revisions.For(snapshot.Parent.UID, c.spec.Rollout.NamespaceOf(snapshot.Parent))
}

// callHookPerRevision calls the hook about all versions of a parent in parallel. The first is the
// present one.
func (c *Controller) callHookPerRevision(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, revisions []*rollout.Revision, webhook *hook.Webhook) ([]*pipeline.Response, error) {
	for _, gone := range state.ensureRollout().keepEarlierAnswers(revisions[1:]) {
		c.forgetAnswer(gone)
	}
	responses, errs := make([]*pipeline.Response, len(revisions)), make([]error, len(revisions))
	call := func(i int, answer *related.Answer, about *pipeline.Snapshot) {
		defer recoverInto(ctx, &errs[i])
		if errs[i] = c.observeRelated(ctx, answer, about); errs[i] == nil {
			responses[i], errs[i] = c.callHook(ctx, answer, webhook, about)
		}
	}
	// All calls share the state of the parent, so none may outlive this sync.
	var calls sync.WaitGroup
	for i, revision := range revisions[1:] {
		about := *snapshot
		about.Parent, about.Present, about.Revision = revision.Parent, snapshot.Parent, revision.Name
		calls.Go(func() {
			call(i+1, state.rollout.earlierAnswers[revision.Name], &about)
			if errs[i+1] != nil {
				errs[i+1] = fmt.Errorf("about the parent as of ControllerRevision %s: %w", revision.Name, errs[i+1])
			}
		})
	}
	call(0, c.customizeAnswerOf(state), snapshot)
	calls.Wait()
	return responses, joinErrors(errs)
}

// storeRevisions writes ControllerRevisions one after the other. No child may be written before.
func (c *Controller) storeRevisions(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, writes []revisions.Write) error {
	if len(writes) == 0 {
		return nil
	}
	if err := c.mayWriteRevisions(ctx, snapshot, writes[0]); err != nil {
		return err
	}
	mayAdopt := sync.OnceValue(func() error { return c.Actor.MayAdopt(ctx, snapshot) })
	for _, write := range writes {
		if write.Adopts {
			if err := mayAdopt(); err != nil {
				return err
			}
		}
		err := c.Revisions.Write(ctx, &state.ensureRollout().revisions, write)
		switch {
		case err == nil, lacksNamespace(err) && snapshot.Parent.DeletionTimestamp != nil:
			// The revisions of a namespace may be deleted before the parents in it are finalized. Then
			// the parents have to be finalized without them, or the namespace would never be deleted.
		case isOvertaken(write, err):
			klog.FromContext(ctx).V(2).Info("ControllerRevision has changed since it was read, the next sync decides again", "err", err)
			return &overtakenError{"ControllerRevision " + write.Revision.Namespace + "/" + write.Revision.Name}
		case lacksNamespace(err):
			return describeLackOfNamespace(write, snapshot.Parent, err)
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

// lacksNamespace reports whether a ControllerRevision could not be created because its namespace does
// not exist or is being deleted.
func lacksNamespace(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsNotFound(err) && status.ErrStatus.Details != nil && status.ErrStatus.Details.Kind == "namespaces"
}

// describeLackOfNamespace adds to an error what decides the namespace, unless it is that of the
// parent.
func describeLackOfNamespace(write revisions.Write, parent *object.Object, err error) error {
	if parent.Namespace != "" {
		return err
	}
	return fmt.Errorf("the ControllerRevisions of cluster-scoped parents are in namespace %s, as the flag --service-namespace says: "+
		"create the namespace, or correct the flag: %w", write.Revision.Namespace, err)
}
