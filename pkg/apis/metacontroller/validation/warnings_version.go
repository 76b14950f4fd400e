// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// hookVersions warns of hooks of one controller that speak different versions of the protocol.
func (w *warnings) hookVersions(sync, finalize, customize *v1alpha1.Hook, path *field.Path) {
	if hasWebhook(finalize) && hasWebhook(sync) && versionOf(finalize) != versionOf(sync) {
		w.add(path.Child("finalize", "version"), `is %q, and that of sync is %q: set both to the same; in v2, keys in requests are "namespace/name" where they are "name" in v1, `+
			`and unknown fields in answers are errors`, versionOf(finalize), versionOf(sync))
	}
	shown, name := sync, "sync"
	if !hasWebhook(sync) {
		shown, name = finalize, "finalize"
	}
	if !hasWebhook(customize) || !hasWebhook(shown) || versionOf(customize) == versionOf(shown) {
		return
	}
	customizes := path.Child("customize", "version")
	if versionOf(customize) == v1alpha1.HookVersionV2 {
		w.add(customizes, `is "v2", and that of %s is "v1", which is shown nothing outside a parent's namespace: set %s to v2; `+
			`then keys in its requests are "namespace/name", and unknown fields in its answers are errors`, name, path.Child(name, "version"))
		return
	}
	w.add(customizes, `is "v1", and that of %s is "v2": customize cannot ask for objects outside a parent's namespace; to have it ask for them, set it to v2; `+
		`then unknown fields in its answers are errors`, name)
}

// versionOf returns the version of the protocol that a hook speaks.
func versionOf(hook *v1alpha1.Hook) v1alpha1.HookVersion {
	if hook.Version == nil || *hook.Version == "" {
		return v1alpha1.HookVersionV1
	}
	return *hook.Version
}
