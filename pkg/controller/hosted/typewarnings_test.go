// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

const deprecated = "v1 Pod is on its way out; use v2"

// warningOf is a host that warns in each answer about Pods, and serves nothing else than a list without objects.
func warningOf(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/pods") {
			w.Header().Set("Warning", `299 - "`+deprecated+`"`)
		}
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1",`+
			`"annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &rest.Config{Host: server.URL}
}

// A type that is deprecated is no mistake of a parent: nothing in an answer can change it.
func TestTheControllerIsWarnedOfATypeOnce(t *testing.T) {
	eventsAt, sent := hostOf(t)
	ctx := context.WithoutCancel(t.Context())
	events, err := report.NewEvents(ctx, eventsAt, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	c := controllerAt(t, warningOf(t), Dependencies{Events: events}, specOf(at("http://hooks.example"), pods))
	controller := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "c"}}
	if err := c.Connect(t.Context(), controller); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.WaitForCaches(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const other = "would violate PodSecurity"
	outcomes := []pipeline.Outcome{
		{Step: pipeline.Step{Type: pods}, Warnings: []string{deprecated, other}},
		{Step: pipeline.Step{Type: object.Type{Kind: "Other"}}, Warnings: []string{deprecated}},
	}
	c.reporter.DropTypeWarnings(outcomes, c.views())
	if got := [][]string{outcomes[0].Warnings, outcomes[1].Warnings}; !cmp.Equal(got, [][]string{{other}, {deprecated}}) {
		t.Errorf("the parent is warned of %v", got)
	}
	events.Shutdown()
	if len(sent) != 1 {
		t.Fatalf("%d events are written, want one", len(sent))
	}
	if event := <-sent; event.Reason != "ClusterWarning" || event.Message != "Pod.v1: the cluster warns: "+deprecated {
		t.Errorf("the event is %s: %s", event.Reason, event.Message)
	}
}
