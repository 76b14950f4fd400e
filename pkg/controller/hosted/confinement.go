// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
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
	for _, one := range spec.namedHooks() {
		if one.spec.GetVersion() != v1alpha1.HookVersionV1 {
			continue
		}
		fields = append(fields, "spec.hooks."+one.name+".version")
		if protocol.UnmarshalMode(inV2(one.spec)) != protocol.UnmarshalMode(one.spec) {
			stricter = append(stricter, one.name)
		}
	}
	text := fmt.Sprintf(`hooks of version v1 see only the parent's namespace; to see others, set %s to v2. Then the keys in %s and related are "namespace/name"`,
		enumerate.All(fields), spec.Kind.ChildrenField)
	if len(stricter) > 0 {
		text += fmt.Sprintf(", and unknown fields in answers of %s are errors", enumerate.All(stricter))
	}
	return text
}

// inV2 returns a hook as it is in version v2.
func inV2(spec *v1alpha1.Hook) *v1alpha1.Hook {
	v2 := v1alpha1.HookVersionV2
	return &v1alpha1.Hook{Version: &v2, Webhook: spec.Webhook}
}
