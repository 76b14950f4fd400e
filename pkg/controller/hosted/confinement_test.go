// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestWhatHasToChangeToShowOtherNamespaces(t *testing.T) {
	hookOf := func(version v1alpha1.HookVersion, mode v1alpha1.ResponseUnmarshallMode) *v1alpha1.Hook {
		return &v1alpha1.Hook{Version: &version, Webhook: &v1alpha1.Webhook{ResponseUnmarshallMode: &mode}}
	}
	const (
		v1, v2, loose, strict = v1alpha1.HookVersionV1, v1alpha1.HookVersionV2, v1alpha1.ResponseUnmarshallModeLoose, v1alpha1.ResponseUnmarshallModeStrict
		why                   = "in version v1 of its hooks, a namespaced parent is shown only what is in its own namespace; to show it this, set "
		keys                  = " to v2, and note what changes then: the keys in children and related are <namespace>/<name> where they are <name> in v1"
	)
	for name, test := range map[string]struct {
		spec Spec
		want string
	}{
		"all hooks": {
			Spec{Customize: hookOf(v1, ""), Sync: hookOf(v1, ""), Finalize: hookOf(v1, "")},
			why + "spec.hooks.customize.version, spec.hooks.sync.version and spec.hooks.finalize.version" + keys +
				", and an unknown field in an answer of customize, sync and finalize is an error unless webhook.responseUnMarshallMode is loose",
		},
		"the versions are the default": {
			Spec{Customize: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{}}, Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{}}},
			why + "spec.hooks.customize.version and spec.hooks.sync.version" + keys +
				", and an unknown field in an answer of customize and sync is an error unless webhook.responseUnMarshallMode is loose",
		},
		"only one is of v1": {
			Spec{Customize: hookOf(v1, strict), Sync: hookOf(v2, "")}, why + "spec.hooks.customize.version" + keys,
		},
		"how strictly answers are read is set": {
			Spec{Customize: hookOf(v1, loose), Sync: hookOf(v1, strict), Finalize: hookOf(v1, "")},
			why + "spec.hooks.customize.version, spec.hooks.sync.version and spec.hooks.finalize.version" + keys +
				", and an unknown field in an answer of finalize is an error unless webhook.responseUnMarshallMode is loose",
		},
		"the rules are not confined": {Spec{Customize: hookOf(v2, ""), Sync: hookOf(v1, "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.spec.Kind.ChildrenField = "children"
			if got := confinement(&test.spec); got != test.want {
				t.Errorf("it is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
