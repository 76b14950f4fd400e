// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// The answer of the sync hook stays the same, so that it is not read again.
func TestWarningsAboutTheAnswerOfACustomizeHookComeAndGo(t *testing.T) {
	var rules atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/customize" {
			_, _ = io.WriteString(w, rules.Load().(string))
			return
		}
		_, _ = io.WriteString(w, answerOfTen(""))
	}))
	t.Cleanup(server.Close)
	eventsAt, _ := hostOf(t)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), eventsAt, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	configMaps := object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	customize := at(server.URL + "/customize")
	spec := specOf(at(server.URL), configMaps)
	spec.Customize = &v1alpha1.Hook{Webhook: &customize}
	c := controllerAt(t, hostOfTen(t), Dependencies{
		Metrics: prometheus.NewRegistry(), Hook: hook.Options{MaxResponseBytes: 1 << 20}, Discovery: &discovery.Discovery{}, Events: events,
	}, spec)
	state := c.parents.get(web("a"))
	for i, turn := range []struct {
		rules string
		want  string // part of the warning; empty if there is none
	}{
		{`{}`, ""},
		{`{}`, ""},
		{`{"relatedResource":[]}`, `did you mean "relatedResources"`},
		{`{"relatedResource":[]}`, `did you mean "relatedResources"`},
		{`{"resources":[]}`, `"resources"`},
		{`{"relatedResources":[]}`, ""},
	} {
		rules.Store(turn.rules)
		*c.planner.CustomizeAnswer(&state.planning) = related.Answer{} // as if it were too old
		if result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged); result.err != nil {
			t.Fatal(result.err)
		}
		if i == 0 && !state.planning.NoOp.Known {
			t.Fatal("the answer is not known to leave nothing to write")
		}
		got := ""
		if warning := c.Health().FieldWarning; warning != nil {
			got = warning.Message
		}
		if (turn.want == "") != (got == "") || !strings.Contains(got, turn.want) {
			t.Errorf("after sync %d the warning is %q, want %q", i, got, turn.want)
		}
	}
}
