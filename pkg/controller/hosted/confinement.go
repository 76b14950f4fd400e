// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
)

// confinement returns why the rules of a customize hook of version v1 stay in the namespace of their
// parent, which hooks have to change for more to be shown, and what changes with them. It is empty if
// that hook has another version.
func confinement(spec *Spec) string {
	if spec.Customize.GetVersion() != v1alpha1.HookVersionV1 {
		return ""
	}
	var fields, stricter []string
	for _, one := range []struct {
		name string
		spec *v1alpha1.Hook
	}{{hook.Customize, spec.Customize}, {hook.Sync, spec.Sync}, {hook.Finalize, spec.Finalize}} {
		if one.spec == nil || one.spec.GetVersion() != v1alpha1.HookVersionV1 {
			continue
		}
		fields = append(fields, "spec.hooks."+one.name+".version")
		if protocol.UnmarshalMode(inV2(one.spec)) != protocol.UnmarshalMode(one.spec) {
			stricter = append(stricter, one.name)
		}
	}
	text := fmt.Sprintf("in version v1 of its hooks, a namespaced parent is shown only what is in its own namespace; "+
		"to show it this, set %s to v2, and note what changes then: the keys in %s and related are <namespace>/<name> where they are <name> in v1",
		enumerate(fields), spec.Kind.ChildrenField)
	if len(stricter) > 0 {
		text += fmt.Sprintf(", and an unknown field in an answer of %s is an error unless webhook.responseUnMarshallMode is loose", enumerate(stricter))
	}
	return text
}

// inV2 returns a hook as it is in version v2.
func inV2(spec *v1alpha1.Hook) *v1alpha1.Hook {
	v2 := v1alpha1.HookVersionV2
	return &v1alpha1.Hook{Version: &v2, Webhook: spec.Webhook}
}

// enumerate returns words as a sentence lists them.
func enumerate(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
