// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/planner"
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

func newHooks(spec *Spec, options hook.Options) (planner.Hooks, error) {
	var made planner.Hooks
	for _, one := range spec.namedHooks() {
		webhook, err := hook.New(one.name, one.spec, spec.EndpointConfigs, options)
		if err != nil {
			made.Close()
			return planner.Hooks{}, fmt.Errorf("%s hook: %w", one.name, err)
		}
		switch one.name {
		case hook.Sync:
			made.Sync = webhook
		case hook.Finalize:
			made.Finalize = webhook
		case hook.Customize:
			made.Customize = webhook
		}
	}
	return made, nil
}
