// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// hookVersions warns of hooks of one controller that speak different versions of the protocol.
func (w *warnings) hookVersions(sync, finalize, customize *metacontroller.Hook, path *field.Path) {
	if hasWebhook(finalize) && hasWebhook(sync) && versionOf(finalize) != versionOf(sync) {
		w.add(path.Child("finalize", "version"), `is %q, and that of sync is %q: the keys of namespaced objects are names in v1 and "namespace/name" in v2, `+
			`and only v2 refuses unknown fields in answers; set both to the same`, versionOf(finalize), versionOf(sync))
	}
	shown, name := sync, "sync"
	if !hasWebhook(sync) {
		shown, name = finalize, "finalize"
	}
	if !hasWebhook(customize) || !hasWebhook(shown) || versionOf(customize) == versionOf(shown) {
		return
	}
	path = path.Child("customize", "version")
	if versionOf(customize) == metacontroller.HookVersionV2 {
		w.add(path, `is "v2", and that of %s is "v1": related has nothing outside a parent's namespace; v2 of %s shows it, has "namespace/name" as keys of children `+
			`and related, and refuses unknown fields in answers`, name, name)
		return
	}
	w.add(path, `is "v1", and that of %s is "v2": rules about namespaced types can select in a parent's namespace only; set customize to v2 to select anywhere`, name)
}

// versionOf returns the version of the protocol that a hook speaks.
func versionOf(hook *metacontroller.Hook) metacontroller.HookVersion {
	if hook.Version == nil || *hook.Version == "" {
		return metacontroller.HookVersionV1
	}
	return *hook.Version
}
