// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
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
	c := controllerAt(t, config, Dependencies{Hook: hook.Options{MaxResponseBytes: 1000}}, specOf(webhook))
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
