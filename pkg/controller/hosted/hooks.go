// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
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

// byName returns the hooks by their names, also those that the spec does not have.
func (h hooks) byName() map[string]*hook.Webhook {
	return map[string]*hook.Webhook{hook.Sync: h.sync, hook.Finalize: h.finalize, hook.Customize: h.customize}
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
