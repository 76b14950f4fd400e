// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// Hooks are the webhooks of a controller; each is nil if the spec does not have it.
type Hooks struct {
	Sync, Finalize, Customize *hook.Webhook
}

// forSnapshot returns the hook to call about a parent; nil if the spec has none for it.
func (h Hooks) forSnapshot(snapshot *pipeline.Snapshot) *hook.Webhook {
	if snapshot.Finalizing {
		return h.Finalize
	}
	return h.Sync
}

// All returns the hooks that the spec has.
func (h Hooks) All() []*hook.Webhook {
	return slices.DeleteFunc([]*hook.Webhook{h.Sync, h.Finalize, h.Customize},
		func(webhook *hook.Webhook) bool { return webhook == nil })
}

// ByName returns the hooks by their names, including hooks that the spec does not have.
func (h Hooks) ByName() map[string]*hook.Webhook {
	return map[string]*hook.Webhook{hook.Sync: h.Sync, hook.Finalize: h.Finalize, hook.Customize: h.Customize}
}

// Forget drops the data that the hooks keep about a parent that no longer exists.
func (h Hooks) Forget(parent types.UID) {
	for _, webhook := range h.All() {
		webhook.Forget(parent)
	}
}

// Close releases the connections of the hooks.
func (h Hooks) Close() {
	for _, webhook := range h.All() {
		webhook.Close()
	}
}
