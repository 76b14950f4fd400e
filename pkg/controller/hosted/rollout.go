// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
)

// hookResponses are what the hooks say about a parent: one answer or, while its children roll, one
// about each of the versions that they are at.
type hookResponses struct {
	responses []*pipeline.Response
	// rollout knows the versions; nil if no children roll.
	rollout *rollout.Rollout
	// planInputs is the hash of what the plan depends on beside the answer if no children roll.
	planInputs uint64
}

// callHooks asks the hooks about the snapshot's parent.
func (c *Controller) callHooks(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, webhook *hook.Webhook) (*hookResponses, error) {
	if rules := c.spec.Rollout; rules == nil || !rules.Active(snapshot) {
		inputs := c.spec.Kind.PlanInputsHash(snapshot)
		snapshot.NoOp = state.noOp.matching(inputs)
		response, err := c.callHook(ctx, c.customizeAnswerOf(state), webhook, snapshot)
		return &hookResponses{responses: []*pipeline.Response{response}, planInputs: inputs}, err
	}
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

// decide makes one answer of all, and says what of it is stored before it is carried out.
func (c *Controller) decide(state *parentState, snapshot *pipeline.Snapshot, answers *hookResponses, now time.Time) (*rollout.Decision, error) {
	if answers.rollout == nil {
		writes, err := c.abandon(snapshot)
		return &rollout.Decision{Response: answers.responses[0], Writes: writes}, err
	}
	return answers.rollout.Decide(answers.responses, plan.UpToDate(snapshot, c.strategies, &state.upToDate), now)
}

// abandon returns the writes that remove what is left of rollouts of a parent whose children
// do not roll any more.
func (c *Controller) abandon(snapshot *pipeline.Snapshot) ([]rollout.Write, error) {
	if rules := c.spec.Rollout; rules == nil || len(rules.Kinds) > 0 {
		return nil, nil
	}
	stored, err := c.revisionsOf(snapshot)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	return rollout.Abandon(snapshot, stored), nil
}

func (c *Controller) revisionsOf(snapshot *pipeline.Snapshot) ([]*rollout.Record, error) {
	return c.Revisions.For(snapshot.Parent.UID, c.spec.Rollout.NamespaceOf(snapshot.Parent))
}

// callHookPerRevision asks about all versions of a parent at once.
func (c *Controller) callHookPerRevision(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, revisions []*rollout.Revision, webhook *hook.Webhook) ([]*pipeline.Response, error) {
	for _, gone := range state.ensureRollout().keepEarlierAnswers(revisions[1:]) {
		c.forgetAnswer(gone)
	}
	responses, errs := make([]*pipeline.Response, len(revisions)), make([]error, len(revisions))
	var asking sync.WaitGroup
	for i, revision := range revisions[1:] {
		about := *snapshot
		about.Parent, about.Present = revision.Parent, snapshot.Parent
		asking.Go(func() {
			defer recoverInto(ctx, &errs[i+1])
			response, err := c.callHook(ctx, state.rollout.earlierAnswers[revision.Name], webhook, &about)
			if err != nil {
				err = fmt.Errorf("about the parent as of ControllerRevision %s: %w", revision.Name, err)
			}
			responses[i+1], errs[i+1] = response, err
		})
	}
	responses[0], errs[0] = c.callHook(ctx, c.customizeAnswerOf(state), webhook, snapshot)
	asking.Wait()
	return responses, joinErrors(errs)
}

// storeRevisions makes writes in their order. No child may be written before all are made.
func (c *Controller) storeRevisions(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, writes []rollout.Write) error {
	mayAdopt := sync.OnceValue(func() error { return c.Actor.MayAdopt(ctx, snapshot) })
	for _, write := range writes {
		if write.Adopts {
			if err := mayAdopt(); err != nil {
				return err
			}
		}
		err := c.Revisions.Write(ctx, &state.ensureRollout().revisions, write)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			klog.FromContext(ctx).V(2).Info("A ControllerRevision changed meanwhile, the next sync sees how", "err", err)
			return errConflict
		}
		if err != nil && !isNamespaceTerminating(err, snapshot.Parent) {
			return err
		}
	}
	return nil
}

// isNamespaceTerminating tells whether a revision could not be made because its namespace is being deleted,
// with the parent in it. The namespace's revisions may go before the parent is finalized, and
// it has to be: else it would keep the namespace for ever.
func isNamespaceTerminating(err error, parent *object.Object) bool {
	return parent.DeletionTimestamp != nil && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
