// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// What hooks keep of a parent must not outlive it.
func TestHooksForgetParentsThatAreGone(t *testing.T) {
	var carried []string
	remembering := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		carried = append(carried, r.Header.Get("If-None-Match"))
		w.Header().Set("ETag", `"x"`)
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(remembering.Close)
	config, _ := hostOf(t)
	webhook := at(remembering.URL)
	webhook.Etag = &v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}
	c := controllerAt(t, config, Dependencies{Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1000}}}, specOf(webhook))
	name := web("a")
	ask := func() {
		t.Helper()
		state := c.parents.get(name)
		snapshot, webhook, err := c.observe(t.Context(), state, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.planner.CallHooks(t.Context(), &state.planning, snapshot, webhook); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	ask()
	c.planner.Observer.Targets[0].Rules[0].Labels = labels.Nothing()
	c.sync(t.Context(), name, syncqueue.ParentChanged)
	c.planner.Observer.Targets[0].Rules[0].Labels = labels.Everything()
	ask()
	ask()
	if want := []string{"", `"x"`, "", `"x"`}; !slices.Equal(carried, want) {
		t.Errorf("the calls carried %q, want %q", carried, want)
	}
}

func TestWhatHasToChangeToShowOtherNamespaces(t *testing.T) {
	hookOf := func(version v1alpha1.HookVersion, mode v1alpha1.ResponseUnmarshallMode) *v1alpha1.Hook {
		return &v1alpha1.Hook{Version: &version, Webhook: &v1alpha1.Webhook{ResponseUnmarshallMode: &mode}}
	}
	const (
		v1, v2, loose, strict = v1alpha1.HookVersionV1, v1alpha1.HookVersionV2, v1alpha1.ResponseUnmarshallModeLoose, v1alpha1.ResponseUnmarshallModeStrict
		why                   = "hooks of version v1 see only the parent's namespace; to see others, set "
		shown                 = ") get no objects outside the parent's namespace; to get them, set "
		keys                  = ` to v2. Then the keys in children and related are "namespace/name"`
	)
	for name, test := range map[string]struct {
		spec Spec
		want string
		// notShown is which hooks are of version v1, and what to do; empty if none is.
		notShown string
	}{
		"all hooks": {
			Spec{Customize: hookOf(v1, ""), Sync: hookOf(v1, ""), Finalize: hookOf(v1, "")},
			why + "spec.hooks.customize.version, spec.hooks.sync.version and spec.hooks.finalize.version" + keys +
				", and unknown fields in answers of customize, sync and finalize are errors",
			"sync and finalize" + shown + "spec.hooks.sync.version and spec.hooks.finalize.version" + keys +
				", and unknown fields in answers of sync and finalize are errors",
		},
		"the versions are the default": {
			Spec{Customize: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{}}, Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{}}},
			why + "spec.hooks.customize.version and spec.hooks.sync.version" + keys +
				", and unknown fields in answers of customize and sync are errors",
			"sync" + shown + "spec.hooks.sync.version" + keys + ", and unknown fields in answers of sync are errors",
		},
		"only one is of v1": {
			Spec{Customize: hookOf(v1, strict), Sync: hookOf(v2, "")}, why + "spec.hooks.customize.version" + keys, "",
		},
		"how strictly answers are read is set": {
			Spec{Customize: hookOf(v1, loose), Sync: hookOf(v1, strict), Finalize: hookOf(v1, "")},
			why + "spec.hooks.customize.version, spec.hooks.sync.version and spec.hooks.finalize.version" + keys +
				", and unknown fields in answers of finalize are errors",
			"sync and finalize" + shown + "spec.hooks.sync.version and spec.hooks.finalize.version" + keys +
				", and unknown fields in answers of finalize are errors",
		},
		"the rules are not confined": {
			Spec{Customize: hookOf(v2, ""), Sync: hookOf(v1, strict)}, "", "sync" + shown + "spec.hooks.sync.version" + keys,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.spec.Kind.ChildrenField = "children"
			if got := confinement(&test.spec); got != test.want {
				t.Errorf("it is\n%s\nwant\n%s", got, test.want)
			}
			want := test.notShown
			if want != "" {
				want = "hooks of version v1 (" + want
			}
			if got := notShown(&test.spec); got != want {
				t.Errorf("not shown is\n%s\nwant\n%s", got, want)
			}
		})
	}
}
