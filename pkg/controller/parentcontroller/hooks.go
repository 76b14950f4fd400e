// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"fmt"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
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
	options.Decorates = spec.Kind.ChildrenField == protocol.Decorator().ChildrenField()
	options.Deletable = plan.Deletable
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

// confinement returns why the rules of a customize hook of version v1 select only in the namespace of their parent,
// which hooks have to change to see more, and the other effects of that change. It is empty if that hook has another
// version.
func confinement(spec *Spec) string {
	if spec.Customize.GetVersion() != v1alpha1.HookVersionV1 {
		return ""
	}
	_, remedy := moveToV2(spec, spec.namedHooks())
	return "hooks of version v1 see only the parent's namespace; to see others, " + remedy
}

// notShown names the hooks of version v1 that see related objects, the objects that they do not see if their parent is
// namespaced, and how to change that. It is empty if there are no such hooks.
func notShown(spec *Spec) string {
	shown := slices.DeleteFunc(spec.namedHooks(), func(one namedHook) bool { return one.name == hook.Customize })
	names, remedy := moveToV2(spec, shown)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("hooks of version v1 (%s) get no objects outside the parent's namespace; to get them, %s",
		text.Join(names), remedy)
}

// moveToV2 names the hooks of version v1, the fields that move them to v2, and the effects of that.
func moveToV2(spec *Spec, hooks []namedHook) (names []string, remedy string) {
	var fields, stricter []string
	for _, one := range hooks {
		if one.spec.GetVersion() != v1alpha1.HookVersionV1 {
			continue
		}
		names = append(names, one.name)
		fields = append(fields, "spec.hooks."+one.name+".version")
		if protocol.UnmarshalMode(inV2(one.spec)) != protocol.UnmarshalMode(one.spec) {
			stricter = append(stricter, one.name)
		}
	}
	remedy = fmt.Sprintf(`set %s to v2. Then the keys in %s and related are "namespace/name"`,
		text.Join(fields), spec.Kind.ChildrenField)
	if len(stricter) > 0 {
		remedy += fmt.Sprintf(", and unknown fields in answers of %s are errors", text.Join(stricter))
	}
	return names, remedy
}

// inV2 returns the form of a hook in version v2.
func inV2(spec *v1alpha1.Hook) *v1alpha1.Hook {
	v2 := v1alpha1.HookVersionV2
	return &v1alpha1.Hook{Version: &v2, Webhook: spec.Webhook, Inline: spec.Inline}
}
