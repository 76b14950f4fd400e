// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package localhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestAWebhookIsCalledHere(t *testing.T) {
	inCluster := &v1alpha1.ServiceReference{Name: "hooks", Namespace: "shop"}
	for name, test := range map[string]struct {
		base    string
		webhook v1alpha1.Webhook
		want    string
	}{
		"the path of its URL":            {"http://localhost:8080", v1alpha1.Webhook{URL: ptr.To("https://hooks.shop:8443/sync?a=b")}, "http://localhost:8080/sync?a=b"},
		"the path at its Service":        {"localhost:8080", v1alpha1.Webhook{Service: inCluster, Path: ptr.To("/sync")}, "http://localhost:8080/sync"},
		"behind the path of the base":    {"http://localhost:8080/all/", v1alpha1.Webhook{URL: ptr.To("http://hooks/sync")}, "http://localhost:8080/all/sync"},
		"no path":                        {"http://localhost:8080", v1alpha1.Webhook{URL: ptr.To("http://hooks")}, "http://localhost:8080"},
		"without credentials of its URL": {"http://localhost:8080", v1alpha1.Webhook{URL: ptr.To("http://me:secret@hooks/sync")}, "http://localhost:8080/sync"},
	} {
		t.Run(name, func(t *testing.T) {
			hook, err := At(test.base)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := hook.URL(&test.webhook); got != test.want || err != nil {
				t.Errorf("got %q and %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, address := range []string{"", "ftp://localhost", "http://", "http://a b"} {
		if _, err := At(address); err == nil || !strings.Contains(err.Error(), "address of the hook") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestCalls(t *testing.T) {
	for name, test := range map[string]struct {
		status       int
		answer, want string
	}{
		"an object":   {200, `{"children":[]}`, ""},
		"an error":    {500, "Traceback: oh no", "answered 500 Internal Server Error: Traceback: oh no"},
		"no JSON":     {200, "<html>", "did not return a JSON object: <html>"},
		"a list":      {200, "[]", "did not return a JSON object: []"},
		"a redirect":  {302, "", "answered 302"},
		"broken JSON": {200, `{"a":`, "did not return a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Method != http.MethodPost || string(body) != "request" || r.Header.Get("X-Metacontroller-Preview") != "true" {
					t.Errorf("the call is %s %q with %v", r.Method, body, r.Header)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.answer)
			}))
			defer server.Close()
			hook, err := At(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := hook.Call(t.Context(), &v1alpha1.Webhook{URL: ptr.To("http://hooks/sync")}, []byte("request"))
			switch {
			case test.want == "" && (err != nil || string(answer) != test.answer):
				t.Errorf("got %q and %v", answer, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

// A hook that has crashed closes the connection: the error says so, and keeps what net/http says.
func TestACallWithoutAnAnswer(t *testing.T) {
	for name, crash := range map[string]func(http.ResponseWriter){
		"before it":     func(http.ResponseWriter) {},
		"in the middle": func(w http.ResponseWriter) { w.Header().Set("Content-Length", "9"); _, _ = io.WriteString(w, "{") },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				crash(w)
				panic(http.ErrAbortHandler)
			}))
			defer server.Close()
			hook, err := At(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			_, err = hook.Call(t.Context(), &v1alpha1.Webhook{URL: ptr.To("http://hooks/sync")}, nil)
			const want = "EOF (the hook closed the connection before it answered: " +
				"it has probably crashed, so see its log)"
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("the error is %v, want %q", err, want)
			}
		})
	}
}

func TestACallHasTheTimeoutOfItsWebhook(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	defer server.Close()
	defer close(release)
	hook, err := At(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	webhook := &v1alpha1.Webhook{URL: ptr.To("http://hooks/sync"), Timeout: ptr.To(v1alpha1.Duration("20ms"))}
	if _, err := hook.Call(t.Context(), webhook, nil); err == nil || !strings.Contains(err.Error(), "no answer within 20ms") {
		t.Errorf("the error is %v", err)
	}
}
