// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// A bug that panics harms one parent, and is reported like any other failure.
func TestASyncThatPanicsFails(t *testing.T) {
	config, sent := hostOf(t)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	c := controllerAt(t, config, Dependencies{Events: events}, specOf(at("http://hooks.example")))
	c.parentChanged(nil, c.planner.Observer.Get(web("a")), false)
	c.planner.ObjectJSON.Store(nil) // the bug

	if result := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); result != syncqueue.Backoff(0) {
		t.Errorf("the result is %v, want a failure", result)
	}
	event := <-sent
	if event.Reason != "SyncError" || event.InvolvedObject.Name != "a" || !strings.Contains(event.Message, "panic: ") {
		t.Errorf("the event is %s about %s: %s", event.Reason, event.InvolvedObject.Name, event.Message)
	}
	if health := c.Health(); health.Total != 1 || health.Failing != 1 || !strings.Contains(health.LastError.Message, "panic: ") {
		t.Errorf("the health is %+v", health)
	}
}

// The backoff of a parent grows to a quarter of an hour. A right that is given must take effect long
// before that, and nothing tells of it.
func TestAParentThatLacksARightIsTriedAgainSoon(t *testing.T) {
	missing := &act.MissingRightError{Err: errors.New("pods is forbidden")}
	for name, test := range map[string]struct {
		err  error
		want syncqueue.Result
	}{
		"a right is missing":              {missing, syncqueue.Backoff(0).Within(45 * time.Second)},
		"a right is missing among others": {planner.JoinErrors([]error{io.EOF, fmt.Errorf("can't create: %w", missing)}), syncqueue.Backoff(0).Within(45 * time.Second)},
		"something else fails":            {io.EOF, syncqueue.Backoff(0)},
	} {
		t.Run(name, func(t *testing.T) {
			config, _ := hostOf(t)
			c := controllerAt(t, config, Dependencies{}, specOf(at("http://hooks.example")))
			key := web("gone") // no event is written about a parent that is not there
			if got := c.conclude(t.Context(), key, c.parents.get(key), &syncFacts{err: test.err}, time.Now()); got != test.want {
				t.Errorf("the result is %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestSyncsAreLoggedInTheDeveloperMode(t *testing.T) {
	for name, developer := range map[string]bool{"with it": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			config, _ := hostOf(t)
			wanting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}]}`)
			}))
			defer wanting.Close()
			c := controllerAt(t, config, Dependencies{
				Settings: Settings{DeveloperMode: developer}, Metrics: prometheus.NewRegistry(), Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}},
			}, specOf(at(wanting.URL), pods))
			var lines []string
			logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
			c.sync(klog.NewContext(t.Context(), logger), web("a"), syncqueue.ParentChanged)
			var want []string
			if developer {
				want = []string{`"level"=0 "msg"="Web default/a: did not create, because its name was taken a moment ago, Pod ` +
					`b; left alone, because it has changed since it was observed, status"`}
			}
			if !slices.Equal(lines, want) {
				t.Errorf("the log says %q, want %q", lines, want)
			}
		})
	}
}

func TestErrorsAreBrief(t *testing.T) {
	c := &Controller{}
	if c.truncate(nil) != nil {
		t.Error("no error becomes one")
	}
	short := errors.New("no")
	if c.truncate(short) != short { //nolint:errorlint // it is the very error
		t.Error("a short error becomes another")
	}
	var refused []error
	for range 5000 {
		refused = append(refused, fmt.Errorf("can't create it: %s", strings.Repeat("ü", 100)))
	}
	long := c.truncate(planner.JoinErrors(append(refused, fmt.Errorf("and %w", &hook.CircuitOpenError{}))))
	const first = "5001 errors: and the hook does not answer"
	if text := long.Error(); len(text) > report.MaxMessage+len("…") || !strings.HasPrefix(text, first) ||
		strings.ToValidUTF8(text, "") != text {
		t.Errorf("it is told in %d bytes: %.100s", len(text), text)
	}
	if _, down := errors.AsType[*hook.CircuitOpenError](long); !down {
		t.Error("what kind of error it is gets lost")
	}
}

func TestTheDeveloperModeShowsWholeErrors(t *testing.T) {
	long := errors.New(strings.Repeat("x", 20_000))
	c := &Controller{}
	if text := c.truncate(long).Error(); len(text) > report.MaxMessage+len("…") {
		t.Errorf("without it, %d bytes are shown", len(text))
	}
	c.DeveloperMode = true
	if text := c.truncate(long).Error(); text != long.Error() {
		t.Errorf("%d bytes are shown, want all", len(text))
	}
}

// What was planned and left nothing to write is not planned again, as long as the hook answers the
// same about the same.
func TestAnAnswerIsPlannedOnce(t *testing.T) {
	const stray = `,"children":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"stray"}}]`
	type turn struct {
		answer  string
		planned bool
		resync  time.Duration
		err     string
	}
	tests := map[string][]turn{
		"the same again": {
			{answer: answerOfTen(""), planned: true}, {answer: answerOfTen("")}, {answer: answerOfTen("")},
		},
		"the same, which asks to be asked again": {
			{answer: answerOfTen(`,"resyncAfterSeconds":7`), planned: true, resync: 7 * time.Second},
			{answer: answerOfTen(`,"resyncAfterSeconds":7`), resync: 7 * time.Second},
		},
		"another": {
			{answer: answerOfTen(""), planned: true},
			{answer: answerOfTen(`,"resyncAfterSeconds":7`), planned: true, resync: 7 * time.Second},
			{answer: answerOfTen(""), planned: true}, {answer: answerOfTen("")},
		},
		"one with a child that cannot be had": {
			{answer: answerOfTen(stray), planned: true, err: `no kind "Secret"`},
			{answer: answerOfTen(stray), planned: true, err: `no kind "Secret"`},
		},
		"the first again, after one with a child that cannot be had": {
			{answer: answerOfTen(""), planned: true},
			{answer: answerOfTen(stray), planned: true, err: `no kind "Secret"`},
			{answer: answerOfTen(""), planned: true}, {answer: answerOfTen("")},
		},
		"one that cannot be read, and the last one again": {
			{answer: answerOfTen(""), planned: true},
			{answer: "[]", err: "must be a JSON object"},
			{answer: answerOfTen("")},
		},
	}
	for name, turns := range tests {
		t.Run(name, func(t *testing.T) {
			var answer atomic.Value
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, answer.Load().(string))
			}))
			t.Cleanup(server.Close)
			c, plans := controllerOfTen(t, server.URL), 0
			c.reporter.Events, _ = eventsOf(t)
			c.spec.Kind.Plan = func(snapshot *pipeline.Snapshot, response *pipeline.Response, strategies plan.Strategies, upToDate *plan.UpToDateCache) (*pipeline.Plan, error) {
				plans++
				return plan.Composite(snapshot, response, strategies, upToDate)
			}
			for i, turn := range turns {
				answer.Store(turn.answer)
				plans = 0
				result := c.syncParent(t.Context(), web("a"), c.parents.get(web("a")), syncqueue.ParentChanged)
				if planned := plans == 1; planned != turn.planned || result.resyncAfter != turn.resync {
					t.Errorf("sync %d: planned is %v and the next sync is due after %v, want %v and %v", i, planned, result.resyncAfter, turn.planned, turn.resync)
				}
				if turn.err == "" && result.err != nil || turn.err != "" && (result.err == nil || !strings.Contains(result.err.Error(), turn.err)) {
					t.Errorf("sync %d: the error is %v, want %q", i, result.err, turn.err)
				}
			}
		})
	}
}

// A write of the finalizer makes the next sync plan again: the guard against write loops learns from
// the plan what needs no write any more.
func TestAnAnswerIsPlannedAgainOnceTheFinalizerWasInTheWay(t *testing.T) {
	c := controllerOfTen(t, hookOfTen(t))
	state := c.parents.get(web("a"))
	if result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged); result.err != nil || !state.planning.NoOp.Known {
		t.Fatalf("nothing is left to do, but an answer is known: %v, error: %v", state.planning.NoOp.Known, result.err)
	}
	c.planner.Observer.Finalizes = true
	if result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged); !apierrors.IsForbidden(result.err) || state.planning.NoOp.Known {
		t.Errorf("the finalizer is missing, but an answer is known: %v, error: %v", state.planning.NoOp.Known, result.err)
	}
}

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
		Metrics: prometheus.NewRegistry(), Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}}, Discovery: &discovery.Discovery{}, Events: events,
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
		got := c.Health().Warning.Message
		if (turn.want == "") != (got == "") || !strings.Contains(got, turn.want) {
			t.Errorf("after sync %d the warning is %q, want %q", i, got, turn.want)
		}
	}
}

// denyingHost serves watches of a parent, webs/a, and of its child, pods/p, and tries changes of the child. As
// long as it denies, admission denies them. Tried and deleted count the requests.
type denyingHost struct {
	denies         atomic.Bool
	tried, deleted atomic.Int32
}

const podInHost = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","uid":"p","resourceVersion":"1","labels":{"controller-uid":"u"},` +
	`"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"a","uid":"u","controller":true,"blockOwnerDeletion":true}]},"spec":{"hostname":"old"}}`

func (h *denyingHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.Method {
	case http.MethodPatch:
		h.tried.Add(1)
		if h.denies.Load() {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"admission webhook \"x\" denied the request: no"}`)
			return
		}
		_, _ = io.WriteString(w, strings.Replace(podInHost, "old", "new", 1))
	case http.MethodPost: // the dry run of the creation
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","code":409,"reason":"AlreadyExists"}`)
	case http.MethodDelete:
		h.deleted.Add(1)
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Success"}`)
	default:
		shown := podInHost
		if strings.HasSuffix(r.URL.Path, "/webs") {
			shown = `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1"},"status":{"observedGeneration":0}}`
		}
		_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`, shown)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// The policy that denies a change may be mended, and nothing tells of that.
func TestQ10ADeniedChangeIsTriedAgain(t *testing.T) {
	host := &denyingHost{}
	server := httptest.NewServer(host)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	wanting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"hostname":"new"}}]}`)
	}))
	t.Cleanup(wanting.Close)
	spec := specOf(at(wanting.URL), pods)
	spec.Strategies = plan.Strategies{pods.GroupKind(): {Method: plan.Recreate, Engine: plan.ServerSideApply}}
	c := controllerAt(t, &rest.Config{Host: server.URL}, Dependencies{Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, Metrics: hook.NewMetrics()}}, spec)
	state := c.parents.get(web("a"))

	host.denies.Store(true)
	for sync := range 2 {
		result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged)
		const denial = `can't recreate Pod default/p: admission webhook "x" denied the request: no`
		if result.err == nil || result.err.Error() != denial || state.children.AsWanted != 0 {
			t.Errorf("sync %d: the error is %v, want %q; %d children are as wanted", sync, result.err, denial, state.children.AsWanted)
		}
	}
	host.denies.Store(false)
	if result := c.syncParent(t.Context(), web("a"), state, syncqueue.ParentChanged); result.err != nil {
		t.Errorf("once nothing denies it, the error is %v", result.err)
	}
	if tried, deleted := host.tried.Load(), host.deleted.Load(); tried != 3 || deleted != 1 {
		t.Errorf("it was tried %d times and deleted %d times, want 3 and 1", tried, deleted)
	}
}

// hostOfOne serves watches of webs/a, with more metadata, and forbids everything else.
func hostOfOne(t *testing.T, more string) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":"ctl.example/v1","kind":"Web",
			"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1"%s}}}
			{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1",
				"annotations":{"k8s.io/initial-events-end":"true"}}}}`, more)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return &rest.Config{Host: server.URL}
}

func TestWithoutAChildTypeOnlyDeletionsGoOn(t *testing.T) {
	const deleted = `,"deletionTimestamp":"2026-03-04T05:06:07Z",
		"finalizers":["metacontroller.io/compositecontroller-webs"]`
	for name, test := range map[string]struct {
		more  string
		calls int32
	}{
		"a parent says what is missing":              {"", 0},
		"the hook is called about one that is going": {deleted, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			answering := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				_, _ = io.WriteString(w, `{"status":{},"children":[],"finalized":false}`)
			}))
			t.Cleanup(answering.Close)
			spec := specOf(at(answering.URL))
			spec.Finalize, spec.Lacks = &v1alpha1.Hook{Webhook: new(at(answering.URL))}, errors.New("a type is missing")
			c := controllerAt(t, hostOfOne(t, test.more), Dependencies{
				Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
			}, spec)
			result := c.syncParent(t.Context(), web("a"), c.parents.get(web("a")), syncqueue.ParentChanged)
			if got := calls.Load(); got != test.calls {
				t.Errorf("the hook was called %d times, want %d: %v", got, test.calls, result.err)
			}
			previewed := c.Previews.Preview(t.Context(), web("a"), allowed(v1alpha1.SyncReviewUntilResponse))
			for of, err := range map[string]error{"sync": result.err, "preview": previewed.Err} {
				if saysSo := errors.Is(err, spec.Lacks); saysSo != (test.calls == 0) {
					t.Errorf("the error of the %s is %v", of, err)
				}
			}
		})
	}
}

// refusing refuses every right.
type refusing struct{}

func (refusing) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	return review, nil
}

// A controller whose account loses a right is stopped, but the queue of those that start and stop
// controllers may be long.
func TestNoHookIsCalledOnceTheAccountMayNotReadWhatItNeeds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the hook is called") }))
	t.Cleanup(server.Close)
	config, _ := hostOf(t)
	c := controllerAt(t, config, Dependencies{}, specOf(at(server.URL)))
	read := rights.Required{Right: rights.Right{Object: rights.Object{GroupResource: schema.GroupResource{Resource: "webs"}}, Verb: "list"}}
	account := &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}
	c.Reads = permissions.New(refusing{}).Require(account, []rights.Required{read}, func() {})
	t.Cleanup(c.Reads.Close)
	if result := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); result != syncqueue.RequeueAfter(refusedInterval) {
		t.Errorf("the result is %+v", result)
	}
	if health := c.Health(); health.Failing != 0 {
		t.Errorf("%d parents fail", health.Failing)
	}
}
