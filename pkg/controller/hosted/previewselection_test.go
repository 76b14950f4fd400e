// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hosttest"
)

// bank is a host with an object that a reviewer may not see, and a Web that they may get.
type bank struct {
	mu     sync.Mutex
	listed sets.Set[string]
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.listed.Insert(r.URL.Path)
	b.mu.Unlock()
	const object = `{"type":"ADDED","object":{"apiVersion":%q,"kind":%q,"metadata":` +
		`{"name":%q,"namespace":"default","uid":%q,"resourceVersion":"1","generation":1,"labels":{"tier":"gold"}},` +
		`"spec":{"selector":{"matchLabels":{"tier":"iron"}}}}}`
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/apis/ctl.example/v1/webs":
		_, _ = fmt.Fprintf(w, object, "ctl.example/v1", "Web", "a", "u")
	case "/api/v1/pods":
		_, _ = fmt.Fprintf(w, object, "v1", "Pod", "vault-0", "p")
	case "/api/v1/configmaps":
		_, _ = fmt.Fprintf(w, object, "v1", "ConfigMap", "merger", "c")
	}
	_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1",`+
		`"annotations":{"k8s.io/initial-events-end":"true"}}}}`)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// reviewedInBank returns a controller at a bank, with a customize hook. Its children are the ConfigMaps that the
// selector of the parent selects.
func reviewedInBank(t *testing.T) (*Controller, *bank) {
	host := &bank{listed: sets.New[string]()}
	server := httptest.NewServer(host)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	configMaps := object.Type{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Kind:                 "ConfigMap", Namespaced: true,
	}
	version, never := v1alpha1.HookVersionV2, at("http://127.0.0.1:1/never")
	spec := specOf(never, configMaps)
	spec.Customize, spec.Claims = &v1alpha1.Hook{Version: &version, Webhook: &never}, observe.NewLabelClaims(false)
	c := controllerAt(t, &rest.Config{Host: server.URL}, Dependencies{
		Metrics: prometheus.NewRegistry(), Hook: hook.Options{MaxResponseBytes: 1 << 20}, Discovery: hosttest.Discovery(t),
	}, spec)
	return c, host
}

// planned are options for a user who has some rights, with an answer of the customize hook.
func planned(rule string, granted ...string) PreviewOptions {
	return PreviewOptions{
		Until: v1alpha1.SyncReviewUntilPlan,
		Answer: func(call hook.Call) ([]byte, error) {
			if call.Hook == hook.Customize {
				return []byte(`{"relatedResources":[` + rule + `]}`), nil
			}
			return []byte(`{"status":{},"children":[]}`), nil
		},
		Permit: func(_ context.Context, required []rights.Required) error {
			var missing []string
			for _, one := range required {
				right := strings.TrimSpace(one.Verb + " " + one.Resource + " " + one.Namespace)
				if !sets.New(granted...).Has(right) {
					missing = append(missing, right)
				}
			}
			if missing != nil {
				return fmt.Errorf("missing: %s", strings.Join(missing, ", "))
			}
			return nil
		},
	}
}

// Whether there is an object of a name or with a label makes no difference to those who may not list: they are refused
// before anything is selected, and before the server watches the type.
func TestAGivenAnswerSelectsOnlyWhatItsAuthorMayList(t *testing.T) {
	c, _ := reviewedInBank(t)
	rule := func(text string) string { return `{"apiVersion":"v1","resource":"pods"` + text + `}` }
	named := func(name string) string { return rule(`,"names":["` + name + `"]`) }
	labelled := func(tier string) string { return rule(`,"labelSelector":{"matchLabels":{"tier":"` + tier + `"}}`) }
	own := []string{"get webs default", "get configmaps default"}
	for name, test := range map[string]struct {
		rule, refusal string
		also          []string
	}{
		"a name that exists":    {named("vault-0"), "missing: list pods", nil},
		"a name that does not":  {named("vault-1"), "missing: list pods", nil},
		"a label that exists":   {labelled("gold"), "missing: list pods", nil},
		"a label that does not": {labelled("iron"), "missing: list pods", nil},
		"another namespace":     {rule(`,"namespace":"bank"`), "missing: list pods bank", []string{"list pods default"}},
		"labels of namespaces":  {rule(`,"namespaceSelector":{}`), "missing: list namespaces", []string{"list pods"}},
		"what its author may see": {
			rule(`,"namespace":"default"`), "", []string{"list pods default", "get pods default"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			preview := c.Preview(t.Context(), web("a"), planned(test.rule, append(test.also, own...)...))
			switch {
			case test.refusal == "":
				if preview.Err != nil || !preview.Planned {
					t.Errorf("planned is %v, error is %v", preview.Planned, preview.Err)
				}
				return
			case preview.Refusal == nil || preview.Refusal.Error() != test.refusal:
				t.Errorf("refusal is %v, want %s", preview.Refusal, test.refusal)
			}
		})
	}
	c, host := reviewedInBank(t)
	c.Preview(t.Context(), web("a"), planned(rule(""), own...))
	if host.mu.Lock(); host.listed.Has("/api/v1/pods") {
		t.Error("the server watches a type for one who may not list it")
	}
	host.mu.Unlock()
}

func TestAGivenAnswerNamesABoundedNumberOfTypes(t *testing.T) {
	c, _ := reviewedInBank(t)
	p := newPreviewing(c, planned(""), true)
	p.isChosen.Store(true)
	var reads []rights.Required
	for i := range maxChosenTypes + 1 {
		of := rights.Object{GroupResource: schema.GroupResource{Group: "many.example", Resource: fmt.Sprint("type", i)}}
		reads = append(reads, rights.Required{Right: rights.Right{Object: of, Verb: "list"}})
	}
	const want = "customize hook: the answer names 65 types, and in a review of a given object or answer, it may name 64"
	if err := p.permitRelated(t.Context(), reads); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// A parent that need not exist has the labels and the selector that its author likes.
func TestAGivenParentSelectsOnlyWhatItsAuthorMayList(t *testing.T) {
	c, _ := reviewedInBank(t)
	const manifest = `{"apiVersion":"ctl.example/v1","kind":"Web",` +
		`"metadata":{"name":"b","namespace":"default","uid":"x"},"spec":{"selector":{"matchLabels":{"tier":%q}}}}`
	for _, tier := range []string{"gold", "iron"} {
		given, err := object.Parse(fmt.Appendf(nil, manifest, tier))
		if err != nil {
			t.Fatal(err)
		}
		preview := c.PreviewAs(t.Context(), &GivenParent{Object: given}, planned("", "get webs default"))
		if preview.Refusal == nil || preview.Refusal.Error() != "missing: list configmaps default" {
			t.Errorf("with a selector for %s, the refusal is %v", tier, preview.Refusal)
		}
	}
	if all := toSelectChildren(c.spec, &object.Object{}); len(all) != 1 || all[0].Namespace != "" {
		t.Errorf("to select the children of a cluster-scoped parent, %v is needed", all)
	}
}

func TestParentsMayBeInTheNamespacesOfTheController(t *testing.T) {
	c, _ := reviewedInBank(t)
	if all := c.ParentReach(""); len(all) != 1 || all[0].Namespace != "" {
		t.Errorf("parents may be in %v", all)
	}
	c.spec.Namespaces = object.NewNamespaces([]string{"a", "b"})
	if within := c.ParentReach(""); len(within) != 2 || within[0].Namespace != "a" || within[1].Namespace != "b" {
		t.Errorf("with spec.namespaces, parents may be in %v", within)
	}
}
