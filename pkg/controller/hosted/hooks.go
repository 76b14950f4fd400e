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

// hooks are the webhooks of a controller; one that its spec does not have is nil.
type hooks struct {
	sync, finalize, customize *hook.Webhook
}

func newHooks(spec *Spec, options hook.Options) (hooks, error) {
	var made hooks
	for _, one := range []struct {
		name string
		spec *v1alpha1.Hook
		made **hook.Webhook
	}{{hook.Sync, spec.Sync, &made.sync}, {hook.Finalize, spec.Finalize, &made.finalize}, {hook.Customize, spec.Customize, &made.customize}} {
		if one.spec == nil {
			continue
		}
		webhook, err := hook.New(one.name, one.spec, spec.EndpointConfigs, options)
		if err != nil {
			made.close()
			return hooks{}, fmt.Errorf("%s hook: %w", one.name, err)
		}
		*one.made = webhook
	}
	return made, nil
}

// forSnapshot is the hook to ask about a parent, nil if there is none for it.
func (h hooks) forSnapshot(snapshot *pipeline.Snapshot) *hook.Webhook {
	if snapshot.Finalizing {
		return h.finalize
	}
	return h.sync
}

// all are the hooks that there are.
func (h hooks) all() []*hook.Webhook {
	return slices.DeleteFunc([]*hook.Webhook{h.sync, h.finalize, h.customize}, func(webhook *hook.Webhook) bool { return webhook == nil })
}

// forget drops what the hooks remember of a parent that is gone.
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
