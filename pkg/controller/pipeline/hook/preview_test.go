// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// previewOf asks for a preview, and notes its calls. What answer returns is taken for the hook's.
func previewOf(hook *Webhook, answer func(Call) ([]byte, error), calls *[]Call) *Webhook {
	return hook.Preview(&Preview{
		Answer: answer, Request: func(Call) []byte { return nil }, Ended: func(call Call) { *calls = append(*calls, call) },
	})
}

func asked(Call) ([]byte, error) { return nil, nil }

func TestACallForAPreviewSaysSo(t *testing.T) {
	var header []string
	hook := webhook(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Values("X-Metacontroller-Preview")
		_, _ = io.WriteString(w, `{"status":{"ready":1}}`)
	}), "")
	var calls []Call
	if _, err := previewOf(hook, asked, &calls).SyncComposite(t.Context(), snapshot(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"true"}, header); diff != "" {
		t.Errorf("the header of a preview (-want +got):\n%s", diff)
	}
	if call := calls[0]; len(calls) != 1 || call.Hook != Sync || !call.Made || call.Err != nil || string(call.Answer) != `{"status":{"ready":1}}` || !strings.Contains(string(call.Request), `"name":"shop"`) {
		t.Errorf("calls are %+v", calls)
	}
	if _, err := hook.SyncComposite(t.Context(), snapshot(t)); err != nil || len(header) > 0 {
		t.Errorf("the header of a sync is %q, error is %v", header, err)
	}
}

func TestAnswersOfPreviews(t *testing.T) {
	errNone := errors.New("none")
	for name, test := range map[string]struct {
		answer  string
		err     error
		request string
		hook    string
		called  string
		want    string
		failure string
	}{
		"one that is given":                  {answer: `{"status":{"n":1}}`, want: `{"n":1}`},
		"one that is given and is no good":   {answer: `[]`, failure: "must be a JSON object"},
		"none, and the hook is not to be":    {err: errNone, failure: "none"},
		"that of the hook":                   {hook: `{"status":{"n":2}}`, called: `"name":"shop"`, want: `{"n":2}`},
		"that of the hook to other content":  {request: `{"parent":"other"}`, hook: `{"status":{"n":3}}`, called: `{"parent":"other"}`, want: `{"n":3}`},
		"that of the hook, which is no good": {hook: `{"status":1}`, called: `"name":"shop"`, failure: "status"},
	} {
		t.Run(name, func(t *testing.T) {
			called := ""
			hook := webhook(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				called = string(body)
				_, _ = io.WriteString(w, test.hook)
			}), "")
			var calls []Call
			previewed := hook.Preview(&Preview{
				Answer: func(Call) ([]byte, error) {
					if test.answer == "" {
						return nil, test.err
					}
					return []byte(test.answer), test.err
				},
				Request: func(Call) []byte {
					if test.request == "" {
						return nil
					}
					return []byte(test.request)
				},
				Ended: func(call Call) { calls = append(calls, call) },
			})
			response, err := previewed.SyncComposite(t.Context(), snapshot(t))
			switch {
			case test.failure == "" && (err != nil || string(response.Status) != test.want):
				t.Errorf("error is %v", err)
			case test.failure != "" && (err == nil || !strings.Contains(err.Error(), test.failure)):
				t.Errorf("error is %v, want %q", err, test.failure)
			}
			if (called == "") != (test.called == "") || !strings.Contains(called, test.called) {
				t.Errorf("the hook is sent %q", called)
			}
			if len(calls) != 1 || calls[0].Made != (test.called != "") || (calls[0].Err != nil) != (test.failure != "") {
				t.Errorf("calls are %+v", calls)
			}
		})
	}
}

// A hook that is down is called for previews. Whether they succeed or not, it is as down as before.
func TestPreviewsDoNotCountForTheCircuitBreaker(t *testing.T) {
	status := http.StatusServiceUnavailable
	hook := webhook(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "{}")
	}), "")
	var calls []Call
	for range 2 * failuresToOpen {
		if _, err := previewOf(hook, asked, &calls).SyncComposite(t.Context(), snapshot(t)); err == nil {
			t.Fatal("a hook that fails has answered")
		}
	}
	if err := hook.CircuitOpen(); err != nil {
		t.Errorf("previews have opened the circuit: %v", err)
	}
	for range failuresToOpen {
		_, _ = hook.SyncComposite(t.Context(), snapshot(t))
	}
	status = http.StatusOK
	if _, err := previewOf(hook, asked, &calls).SyncComposite(t.Context(), snapshot(t)); err != nil {
		t.Errorf("the hook is there again: %v", err)
	}
	if hook.CircuitOpen() == nil {
		t.Error("a preview has closed the circuit")
	}
}

func TestPreviewsLeaveETagsAlone(t *testing.T) {
	var sent []string
	etag := `"1"`
	hook := etagHook(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("If-None-Match"))
		w.Header().Set("ETag", etag)
		_, _ = io.WriteString(w, "{}")
	}), v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)})
	var calls []Call
	sync := func(w *Webhook) {
		t.Helper()
		about := snapshot(t)
		about.Parent.UID = "u"
		if _, err := w.SyncComposite(t.Context(), about); err != nil {
			t.Fatal(err)
		}
	}
	sync(previewOf(hook, asked, &calls))
	sync(hook)
	etag = `"2"`
	sync(previewOf(hook, asked, &calls))
	sync(hook)
	if diff := cmp.Diff([]string{"", "", "", `"1"`}, sent); diff != "" {
		t.Errorf("If-None-Match of two previews, each before a sync (-want +got):\n%s", diff)
	}
}

func TestPreviewsAreNotMeasured(t *testing.T) {
	metrics := NewMetrics()
	registry := registryOf(t, metrics)
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	hook := measuredHook(t, metrics, Sync, address, ControllerRef{Type: "CompositeController", Name: "webs"})
	gather := func() (text string) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			text += family.String()
		}
		return text
	}
	if _, err := hook.SyncComposite(t.Context(), snapshot(t)); err != nil {
		t.Fatal(err)
	}
	before := gather()
	var calls []Call
	if _, err := previewOf(hook, asked, &calls).SyncComposite(t.Context(), snapshot(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, gather()); diff != "" {
		t.Errorf("metrics (-before +after the preview):\n%s", diff)
	}
}

func TestThereIsNoPreviewOfNoHook(t *testing.T) {
	if (*Webhook)(nil).Preview(&Preview{}) != nil {
		t.Error("there is one")
	}
}
