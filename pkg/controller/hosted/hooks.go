// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
)

// namedHook is a hook of a spec with its name.
type namedHook struct {
	name string
	spec *v1alpha1.Hook
}

// namedHooks returns the hooks that the spec has, in the order in which they are called.
func (s *Spec) namedHooks() (found []namedHook) {
	for _, one := range []namedHook{{hook.Customize, s.Customize}, {hook.Sync, s.Sync}, {hook.Finalize, s.Finalize}} {
		if one.spec != nil {
			found = append(found, one)
		}
	}
	return found
}

// hooks are the webhooks of a controller; each is nil if the spec does not have it.
type hooks struct {
	sync, finalize, customize *hook.Webhook
}

func newHooks(spec *Spec, options hook.Options) (hooks, error) {
	var made hooks
	for _, one := range spec.namedHooks() {
		webhook, err := hook.New(one.name, one.spec, spec.EndpointConfigs, options)
		if err != nil {
			made.close()
			return hooks{}, fmt.Errorf("%s hook: %w", one.name, err)
		}
		switch one.name {
		case hook.Sync:
			made.sync = webhook
		case hook.Finalize:
			made.finalize = webhook
		case hook.Customize:
			made.customize = webhook
		}
	}
	return made, nil
}

// forSnapshot returns the hook to call about a parent; nil if the spec has none for it.
func (h hooks) forSnapshot(snapshot *pipeline.Snapshot) *hook.Webhook {
	if snapshot.Finalizing {
		return h.finalize
	}
	return h.sync
}

// all returns the hooks that the spec has.
func (h hooks) all() []*hook.Webhook {
	return slices.DeleteFunc([]*hook.Webhook{h.sync, h.finalize, h.customize}, func(webhook *hook.Webhook) bool { return webhook == nil })
}

// forget drops what the hooks keep of a parent that is gone.
func (h hooks) forget(parent types.UID) {
	for _, webhook := range h.all() {
		webhook.Forget(parent)
	}
}

func (h hooks) close() {
	for _, webhook := range h.all() {
		webhook.Close()
	}
}

// hookResponses are the responses of the hooks about one parent: one response or, while its
// children roll out, one for each version of the parent that they are at.
type hookResponses struct {
	responses []*pipeline.Response
	// rollout knows the versions; nil if no children roll out.
	rollout *rollout.Rollout
	// planInputs is the hash of the inputs of the plan other than the response, and of the warnings
	// about the answer of the customize hook. It is set if rollout is nil.
	planInputs uint64
}

// callHooks calls the webhook about the snapshot's parent.
func (c *Controller) callHooks(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, webhook *hook.Webhook) (*hookResponses, error) {
	if rules := c.spec.Rollout; rules != nil && rules.Active(snapshot) {
		return c.callHooksOfRollout(ctx, state, snapshot, webhook)
	}
	answer := c.customizeAnswerOf(state)
	if err := c.observeRelated(ctx, answer, snapshot); err != nil {
		return nil, err
	}
	planInputs := c.spec.Kind.PlanInputsHash(snapshot) + answer.WarningsHash()
	snapshot.NoOp = state.noOp.matching(planInputs)
	response, err := c.callHook(ctx, answer, webhook, snapshot)
	return &hookResponses{responses: []*pipeline.Response{response}, planInputs: planInputs}, err
}

// callHook calls the webhook about the snapshot's parent. The response has the warnings about the
// answer of the customize hook, too.
func (c *Controller) callHook(ctx context.Context, answer *related.Answer, webhook *hook.Webhook, snapshot *pipeline.Snapshot) (*pipeline.Response, error) {
	response, err := c.spec.Kind.CallHook(webhook, ctx, snapshot)
	c.hookCalls.update(webhook.Name(), snapshot, err)
	if err == nil && !response.IsNoOp {
		response.Warnings = append(response.Warnings, answer.Warnings()...)
	}
	return response, err
}
