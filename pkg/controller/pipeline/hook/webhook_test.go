// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

const limit = 1000

// serve starts a hook. Handlers that block end with the test.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// webhook is the hook at a URL; timeout may be empty.
func webhook(t *testing.T, url, timeout string) *Webhook {
	t.Helper()
	spec := &v1alpha1.Webhook{URL: &url}
	if timeout != "" {
		spec.Timeout = ptr.To(v1alpha1.Duration(timeout))
	}
	made, err := New(Sync, &v1alpha1.Hook{Webhook: spec}, nil, Options{Limits: Limits{MaxResponseBytes: limit}, MaxIdleConnections: 2, Deletable: plan.Deletable})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func snapshot(t *testing.T) *pipeline.Snapshot {
	return &pipeline.Snapshot{
		Controller: []byte(controller),
		Parent:     parsed(t, `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default"}}`),
	}
}

// answer answers with a status and a body.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func parsed(t testing.TB, raw string) *object.Object {
	t.Helper()
	o, err := object.Parse([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return o
}

func typeOf(group, version, kind string) object.Type {
	return object.Type{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version}, Kind: kind}
}

const controller = `{"kind":"CompositeController","apiVersion":"metacontroller.k8s.io/v1alpha1","metadata":{"name":"webs"},"spec":{},"status":{}}`

func TestQ11FinalizedCountsInFinalizeCallsAlone(t *testing.T) {
	address := serve(t, answer(200, `{"finalized":true}`))
	for name, format := range map[string]protocol.Format{"composite": protocol.Composite(), "decorator": protocol.Decorator()} {
		for _, finalizing := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, finalizing %t", name, finalizing), func(t *testing.T) {
				about := snapshot(t)
				about.Finalizing = finalizing
				response, err := webhook(t, address, "").sync(t.Context(), format, about)
				if err != nil || response.Finalized != finalizing {
					t.Errorf("response %+v with error %v", response, err)
				}
			})
		}
	}
}

// tools has one object, which all names stand for.
type tools struct {
	now     *object.Object
	changed func(*object.Object)
}

// Follow implements transport.Sources.
func (c *tools) Follow(_ context.Context, _ object.Type, _ types.NamespacedName, changed func(*object.Object)) (stop func(), err error) {
	c.changed = changed
	changed(c.now)
	return func() {}, nil
}

func TestConnectNamesTheHook(t *testing.T) {
	const missing = " hook: spec.endpointConfigs[0].authorization.secretRef: Secret tools/a: it does not exist"
	token := parsed(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"tools"},"data":{"token":"czNjcmV0"}}`)
	for _, name := range []string{Sync, Finalize, Customize} {
		sources := &tools{}
		made, err := New(name, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To("http://hooks.example")}}, []v1alpha1.EndpointConfig{{
			Host: "hooks.example", Authorization: &v1alpha1.Authorization{SecretRef: v1alpha1.SecretKeyRef{Namespace: "tools", Name: "a", Key: "token"}},
		}}, Options{Sources: sources})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(made.Close)
		want := "can't resolve endpoint config for " + name + missing
		err = made.Connect(t.Context(), nil)
		if _, ok := errors.AsType[*SourceError](err); !ok || err.Error() != want {
			t.Errorf("error is\n%v\nwant\n%s", err, want)
		}
		var stale []string
		sources.changed(token)
		if err := made.Connect(t.Context(), func(err error) { stale = append(stale, fmt.Sprint(err)) }); err != nil {
			t.Fatal(err)
		}
		sources.changed(nil)
		sources.changed(token)
		if diff := cmp.Diff([]string{want, "<nil>"}, stale); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	}
}

// Some hooks say which credential they refuse.
func TestARefusalDoesNotTellTheCredential(t *testing.T) {
	for name, spec := range map[string]v1alpha1.Webhook{
		"a token":    {Authorization: &v1alpha1.Authorization{SecretRef: v1alpha1.SecretKeyRef{Namespace: "tools", Name: "a", Key: "password"}}},
		"a password": {BasicAuth: &v1alpha1.BasicAuth{SecretRef: v1alpha1.SecretRef{Namespace: "tools", Name: "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, password, _ := r.BasicAuth()
				w.WriteHeader(http.StatusForbidden)
				_, _ = fmt.Fprintf(w, "refused %s and %s", r.Header.Get("Authorization"), password)
			})
			spec.URL = &address
			sources := &tools{now: parsed(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"username":"bWU=","password":"czNjcmV0"}}`)}
			made, err := New(Sync, &v1alpha1.Hook{Webhook: &spec}, nil, Options{Limits: Limits{MaxResponseBytes: limit}, Sources: sources})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(made.Close)
			if err := made.Connect(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			_, err = made.SyncComposite(t.Context(), snapshot(t))
			if err == nil || !strings.Contains(err.Error(), "403 body: refused B") {
				t.Fatalf("error is %v", err)
			}
			if message := err.Error(); strings.Contains(message, "s3cret") || strings.Contains(message, "bWU6") {
				t.Errorf("it is told: %s", message)
			}
		})
	}
}

func TestAHookIsNotCalledAtADeniedAddress(t *testing.T) {
	call := func(url string) error {
		made, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &url, Timeout: ptr.To(v1alpha1.Duration("5s"))}}, nil,
			Options{Limits: Limits{MaxResponseBytes: limit, Denied: hookaddress.DeniedByDefault()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(made.Close)
		_, err = made.SyncComposite(t.Context(), snapshot(t))
		return err
	}
	for target, address := range map[string]string{
		"http://169.254.169.254/latest/meta-data":          "169.254.169.254",
		"https://169.254.169.254:8443/":                    "169.254.169.254",
		"http://[::ffff:169.254.169.254]/":                 "::ffff:169.254.169.254",
		"http://[fe80::1%25lo]/":                           "fe80::1%lo",
		"http://user:password@[::ffff:a9fe:a9fe]:80/hooks": "::ffff:169.254.169.254",
	} {
		t.Run(target, func(t *testing.T) {
			err := call(target)
			denied, ok := errors.AsType[*hookaddress.Error](err)
			if !ok || denied.Address.String() != address {
				t.Errorf("error is %v, want one that denies %s", err, address)
			}
			if err != nil && (!strings.Contains(err.Error(), "--hook-deny-cidrs") || strings.Contains(err.Error(), "password")) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if err := call(serve(t, answer(200, "{}"))); err != nil {
		t.Errorf("another address: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	tests := map[string]struct {
		webhook v1alpha1.Webhook
		want    string
	}{
		"a webhook without an address": {
			webhook: v1alpha1.Webhook{},
			want:    "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'",
		},
		"a service without a namespace": {
			webhook: v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "hooks"}, Path: ptr.To("/sync")},
			want:    "invalid webhook config: 'service' must specify both 'name' and 'namespace'",
		},
		"a timeout that is none": {
			webhook: v1alpha1.Webhook{URL: ptr.To("http://hooks.example"), Timeout: ptr.To(v1alpha1.Duration("10 seconds"))},
			want:    `invalid webhook config: timeout: time: unknown unit " seconds" in duration "10 seconds"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			webhook, err := New(Sync, &v1alpha1.Hook{Webhook: &test.webhook}, nil, Options{})
			if err == nil {
				t.Fatalf("it would be called at %s", webhook.address.url)
			}
			if err.Error() != test.want {
				t.Errorf("error is\n%s\nwant\n%s", err, test.want)
			}
		})
	}
}

func TestAURLIsShownWithoutItsSecrets(t *testing.T) {
	const url = "http://user:s3cret@hooks.example/sync?key=s3cret"
	hook, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(url)}}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "http://xxxxx@hooks.example/sync?xxxxx"; hook.shown != want {
		t.Errorf("shown is %s, want %s", hook.shown, want)
	}
	if hook.address.url.String() != url {
		t.Errorf("called is %s, want %s", hook.address.url, url)
	}
}

func TestTimeout(t *testing.T) {
	tests := map[string]struct {
		timeout *v1alpha1.Duration
		want    time.Duration
	}{
		"none is ten seconds":           {nil, 10 * time.Second},
		"zero is ten seconds":           {ptr.To(v1alpha1.Duration("0s")), 10 * time.Second},
		"less than zero is ten seconds": {ptr.To(v1alpha1.Duration("-1m")), 10 * time.Second},
		"several units":                 {ptr.To(v1alpha1.Duration("1m30s")), 90 * time.Second},
		"less than a second":            {ptr.To(v1alpha1.Duration("50ms")), 50 * time.Millisecond},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			webhook, err := New(Sync, &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To("http://hooks.example"), Timeout: test.timeout}}, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if webhook.timeout != test.want {
				t.Errorf("the timeout is %s, want %s", webhook.timeout, test.want)
			}
		})
	}
}

// customizeHook is a customize hook of a version at a URL.
func customizeHook(t *testing.T, url string, version v1alpha1.HookVersion) *Webhook {
	t.Helper()
	made, err := New(Customize, &v1alpha1.Hook{Version: &version, Webhook: &v1alpha1.Webhook{URL: &url}}, nil,
		Options{Limits: Limits{MaxResponseBytes: limit}, MaxIdleConnections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func TestACustomizeRequestIsControllerAndParent(t *testing.T) {
	about := snapshot(t)
	about.Children = []pipeline.Group{{Type: typeOf("", "v1", "Pod")}}
	want := `{"controller":` + controller + `,"parent":` + string(about.Parent.JSON()) + `}`
	for _, version := range []v1alpha1.HookVersion{v1alpha1.HookVersionV1, v1alpha1.HookVersionV2} {
		t.Run(string(version), func(t *testing.T) {
			sent := make(chan string, 1)
			address := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				sent <- string(body)
				_, _ = io.WriteString(w, `{"relatedResources":[{"apiVersion":"v1","resource":"secrets"}]}`)
			})
			rules, _, err := customizeHook(t, address, version).Customize(t.Context(), about)
			if err != nil {
				t.Fatal(err)
			}
			if got := <-sent; got != want {
				t.Errorf("it was sent %s, want %s", got, want)
			}
			if len(rules) != 1 || rules[0].Resource != "secrets" {
				t.Errorf("the rules are %v", rules)
			}
		})
	}
}

func TestACustomizeHookThatCannotBeAsked(t *testing.T) {
	address := serve(t, answer(500, "no"))
	rules, _, err := customizeHook(t, address, v1alpha1.HookVersionV1).Customize(t.Context(), snapshot(t))
	want := "customize hook failed: " + address + ": unsupported status code: 500 body: no (200 is expected)"
	if rules != nil || err == nil || err.Error() != want {
		t.Errorf("rules %v and error\n%v\nwant\n%s", rules, err, want)
	}
	address = serve(t, answer(429, ""))
	_, _, err = customizeHook(t, address, v1alpha1.HookVersionV1).Customize(t.Context(), snapshot(t))
	if _, ok := errors.AsType[*ThrottledError](err); !ok {
		t.Errorf("error is %v, want it to be a wish to be asked later", err)
	}
}

func TestAnAnswerThatIsKnownToLeaveNothingToWriteIsNotRead(t *testing.T) {
	// It could not be read, which shows whether anybody tries.
	const known = `{"children":`
	hash := xxhash.Sum64String(known)
	sync := func(body string, rest *pipeline.NoOp) (*pipeline.Response, error) {
		about := snapshot(t)
		about.NoOp = rest
		return webhook(t, serve(t, answer(200, body)), "").SyncComposite(t.Context(), about)
	}
	rest := &pipeline.NoOp{Answer: hash, ResyncAfter: time.Minute}

	response, err := sync(known, rest)
	want := &pipeline.Response{ResyncAfter: time.Minute, Hash: hash, IsNoOp: true}
	if diff := cmp.Diff(want, response); diff != "" || err != nil {
		t.Errorf("the known answer: error %v, response (-want +got):\n%s", err, diff)
	}
	if response, err := sync(known, nil); err == nil {
		t.Errorf("without anything known it was read as %+v", response)
	}
	response, err = sync(`{}`, rest)
	if err != nil || response.IsNoOp || response.Hash != xxhash.Sum64String(`{}`) {
		t.Errorf("another answer: response %+v, error %v", response, err)
	}
}
