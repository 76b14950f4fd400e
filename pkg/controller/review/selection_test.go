// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/resolve"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hosttest"
)

// controllerOfBank returns a controller with one parent, bank/merger-acme, labelled tier=gold.
func controllerOfBank(t *testing.T) *parentcontroller.Controller {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/apis/ctl.example/v1/webs" {
			_, _ = io.WriteString(w, `{"type":"ADDED","object":{"apiVersion":"ctl.example/v1","kind":"Web","metadata":`+
				`{"name":"merger-acme","namespace":"bank","uid":"u","resourceVersion":"1","labels":{"tier":"gold"}}}}`)
		}
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1",`+
			`"annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	url := "http://127.0.0.1:1/never"
	c, err := parentcontroller.New(parentcontroller.Dependencies{
		Metrics: prometheus.NewRegistry(), Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}},
		Informers: cache.NewInformers(ctx, client, 0), Settings: parentcontroller.Settings{Workers: 1},
		Actor: &act.Actor{Writer: host.NewWriter(client, 1), Parallel: 1},
	}, &parentcontroller.Spec{
		Kind: resolve.CompositeKind(), Name: "webs", Object: []byte(`{}`),
		Targets: []parentcontroller.Target{{Type: hosttest.Webs(), Rules: []observe.Rule{{Labels: labels.Everything()}}}},
		Claims:  observe.NewLabelClaims(true), Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Those who may not list the parents of a selection are refused, whatever it selects.
func TestParentsAreSelectedForThoseWhoMayListThem(t *testing.T) {
	controller := controllerOfBank(t)
	labelled := func(tier string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}
	}
	selection := func(namespace string, selector *metav1.LabelSelector, token string) v1alpha1.SyncReviewParents {
		return v1alpha1.SyncReviewParents{Namespace: namespace, LabelSelector: selector, Continue: token}
	}
	after := func(name string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"g":"ctl.example","k":"Web","ns":"bank","n":"` + name + `"}`))
	}
	const role, clusterRole = `# missing permissions in a Role of namespace "bank"`, `# missing permissions in a ` +
		`ClusterRole`
	for name, test := range map[string]struct {
		rules   []string
		parents v1alpha1.SyncReviewParents
		// says is what the refusal says; empty if the parents are returned.
		says string
		want int
	}{
		"all":                        {nil, selection("", nil, ""), clusterRole, 0},
		"all, of one namespace only": {[]string{"list webs bank", "get webs bank"}, selection("", nil, ""), clusterRole, 0},
		"a namespace with parents":   {nil, selection("bank", nil, ""), role, 0},
		"a label that one has":       {nil, selection("bank", labelled("gold"), ""), role, 0},
		"a label that none has":      {nil, selection("bank", labelled("iron"), ""), role, 0},
		"after a name before one":    {nil, selection("bank", nil, after("merger-acmd")), role, 0},
		"after all names":            {nil, selection("bank", nil, after("z")), role, 0},
		"no parents": {nil, selection("shop", nil, ""), `# missing permissions in a Role of namespace ` +
			`"shop"`, 0},
		"by who may list and get": {[]string{"list webs bank", "get webs bank"}, selection("bank", nil, ""), "", 1},
		"by who may list only":    {[]string{"list webs bank"}, selection("bank", nil, ""), `verbs: ["get"]`, 0},
		"everywhere":              {[]string{"list webs *", "get webs *"}, selection("", labelled("gold"), ""), "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			user := rights.User{Name: "mallory", Groups: []string{"system:authenticated"}}
			cluster := &cluster{rules: test.rules}
			r := &reviewing{
				Reviews: New(&rest.Config{}, cluster), author: user, limit: 20,
				spec:    &v1alpha1.SyncReviewSpec{Parents: &test.parents},
				permit:  newPermit(cluster, user, v1alpha1.SyncReviewController{Kind: "CompositeController", Name: "webs"}),
				subject: &subject{running: controller, release: func() {}},
			}
			parents, _, err := r.parents(t.Context())
			switch {
			case test.says == "":
				if err != nil || len(parents) != test.want {
					t.Errorf("there are %d parents, error is %v", len(parents), err)
				}
			case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.says):
				t.Errorf("error is %v, want %s", err, test.says)
			}
		})
	}
}
