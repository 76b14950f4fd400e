// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestWhatIsSaidIsLoggedWithoutTheValuesOfSecrets(t *testing.T) {
	const (
		web    = `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default"},"spec":{"word":"in-request"}}`
		pod    = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"}}`
		secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"default"},"data":{"word":"aW4tcmVxdWVzdCBpbi1hbnN3ZXI="}}`
	)
	tests := map[string]struct {
		parent, child, answer       string
		verbosity                   int
		showsRequest, showsResponse bool
	}{
		"both are shown":                             {web, pod, `{"status":{"word":"in-answer"}}`, 6, true, true},
		"neither is at a lower level":                {web, pod, `{"status":{"word":"in-answer"}}`, 5, false, false},
		"a request with a Secret is":                 {web, secret, `{"status":{"word":"in-answer"}}`, 6, true, true},
		"what the hook says of a value in it is not": {web, secret, `{"status":{"word":"in-request in-answer"}}`, 6, true, false},
		"an answer with a Secret is":                 {web, pod, `{"children":[` + pod + `,` + secret + `],"status":{"other":"in-answer"}}`, 6, true, true},
		"a request about a Secret is":                {secret, pod, `{"status":{"word":"in-answer"}}`, 6, false, true},
		"an answer that cannot be read is shown":     {web, pod, `{"children":["in-answer"]}`, 6, true, true},
		"one that is no JSON is shown":               {web, pod, `in-answer: <html>`, 6, true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			address := serve(t, answer(200, test.answer))
			var logged strings.Builder
			logger := funcr.New(func(_, line string) { logged.WriteString(line + "\n") }, funcr.Options{Verbosity: test.verbosity})
			about := &pipeline.Snapshot{
				Controller: []byte(controller), Parent: parsed(t, test.parent),
				Children: []pipeline.Group{{Type: typeOf("", "v1", "Pod"), Claimed: []*object.Object{parsed(t, test.child)}}},
			}
			address = strings.Replace(address, "http://", "http://user:s3cret@", 1)
			_, _ = webhook(t, address, "").SyncComposite(klog.NewContext(t.Context(), logger), about)
			if shown := strings.Contains(logged.String(), "in-request"); shown != test.showsRequest {
				t.Errorf("the request is shown: %v\n%s", shown, logged.String())
			}
			if shown := strings.Contains(logged.String(), "in-answer"); shown != test.showsResponse {
				t.Errorf("the answer is shown: %v\n%s", shown, logged.String())
			}
			for _, hidden := range []string{"s3cret", "aW4tcmVxdWVzd", "in-request in-answer"} {
				if strings.Contains(logged.String(), hidden) {
					t.Errorf("%s is logged:\n%s", hidden, logged.String())
				}
			}
		})
	}
}

// What is wrong with an answer is best seen in it.
func TestAnAnswerIsLoggedBeforeItIsJudged(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
	}{
		"an error":                           {500, "KeyError: 'size'"},
		"a status that is no error":          {201, `{"status":{}}`},
		"an answer that is no JSON":          {200, "KeyError: 'size'"},
		"a field of the wrong type":          {200, `{"status":"KeyError: 'size'"}`},
		"an answer that strict mode refuses": {200, `{"size":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			var logged strings.Builder
			logger := funcr.New(func(_, line string) { logged.WriteString(line + "\n") }, funcr.Options{Verbosity: 6})
			_, err := ofMode(t, Sync, serve(t, answer(test.status, test.body)), v1alpha1.HookVersionV2, "").SyncComposite(klog.NewContext(t.Context(), logger), snapshot(t))
			if err == nil {
				t.Fatal("the call succeeds")
			}
			want := fmt.Sprintf(`"status"=%d "bytes"=%d "body"=%q`, test.status, len(test.body), test.body)
			if !strings.Contains(logged.String(), want) {
				t.Errorf("logged is\n%s\nwant in it\n%s", logged.String(), want)
			}
		})
	}
}

// traceback is what a hook in Python answers about a child that it cannot make.
const traceback = `Traceback (most recent call last):
  File "/app/hook.py", line 12, in sync
    make_secret(parent, "Secret")
ValueError: no room for `

func TestErrorsDoNotQuoteTheValuesOfSecrets(t *testing.T) {
	const secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"password":"aHVudGVyMiE="},"stringData":{"pin":"1"}}`
	const shown = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"password":"xxxxx"},"stringData":{"pin":"xxxxx"}}`
	const (
		raised = "body: ValueError: no room for "
		frames = `; Traceback (most recent call last): File "/app/hook.py", line 12, in sync make_secret(parent, "Secret") (200 is expected)`
	)
	tests := map[string]struct {
		status     int
		body, want string
	}{
		"a traceback about a child that is none": {500, traceback + `{"password":"aHVudGVyMiE="}`, raised + `{"password":xxxxx}` + frames},
		"a traceback about a child":              {500, traceback + `{'kind': 'Secret', 'data': {'password': 'aHVudGVyMiE='}}`, raised + `{'kind': xxxxx, 'data': {'password': xxxxx}}` + frames},
		"one in bytes":                           {500, traceback + `{'kind': 'Secret', 'data': {'password': b'hunter2!'}}`, raised + `{'kind': xxxxx, 'data': {'password': xxxxx}}` + frames},
		"a traceback in JSON": {
			500, `{"detail":"no Secret of {\"kind\":\"Secret\",\"data\":{\"password\":\"aHVudGVyMiE=\"}}"}`,
			`body: {"detail":"no Secret of {\"kind\":xxxxx,\"data\":{\"password\":xxxxx}}"} (200 is expected)`,
		},
		"the word alone":               {500, "no Secret is in the parent, kind: Secret", "body: no Secret is in the parent, kind: Secret (200 is expected)"},
		"a Secret as an error":         {500, secret, "body: " + shown + " (200 is expected)"},
		"a list of Secrets":            {500, `{"kind":"SecretList","apiVersion":"v1","items":[{"data":{"password":"aHVudGVyMiE="}}]}`, `"items":[{"data":{"password":"xxxxx"}}]} (200 is expected)`},
		"a list":                       {200, `[` + secret + `]`, "it must be a JSON object, but it is " + strconv.Quote("["+shown+"]")},
		"children in an object":        {200, `{"children":` + secret + `}`, `children must be a list of objects, not ` + shown},
		"a status that is a string":    {200, `{"children":[` + secret + `],"status":"aHVudGVyMiE="}`, `status must be a JSON object, not "xxxxx"`},
		"a decoded value":              {200, `{"children":[` + secret + `],"status":"the hunter2!"}`, `status must be a JSON object, not "the xxxxx"`},
		"seconds that are a string":    {200, `{"children":[` + secret + `],"resyncAfterSeconds":"aHVudGVyMiE="}`, `resyncAfterSeconds must be a number of seconds, not "xxxxx"`},
		"a child without a kind":       {200, `{"children":[` + secret + `,{"apiVersion":"v1","data":{"password":"aHVudGVyMiE="}}]}`, `children[1] has no kind: {"apiVersion":"v1","data":{"password":"xxxxx"}}`},
		"a child that is a string":     {200, `{"children":[` + secret + `,"aHVudGVyMiE="]}`, `children[1]: expected an object`},
		"a label of the wrong type":    {200, `{"children":[{"apiVersion":"v1","kind":"Secret","metadata":{"labels":{"a":["aHVudGVyMiE="]}}}]}`, `children[0]: metadata.labels[a]: expected a string`},
		"something behind the answer":  {200, `{"children":[` + secret + `]} aHVudGVyMiE=`, `; the answer is ` + strconv.Quote(`{"children":[{"apiVersion":xxxxx,"kind":xxxxx,"metadata":{"name":xxxxx},"data":{"password":xxxxx},"stringData":{"pin":xxxxx}}]} xxxxx`)},
		"broken JSON":                  {200, `{"children":[{"apiVersion":"v1","kind":"Secret","data":{"password":aHVudGVyMiE=}}]}`, `invalid character 'a' at start of value in line 1; the answer is ` + strconv.Quote(`{"children":[{"apiVersion":xxxxx,"kind":xxxxx,"data":{"password":xxxxx}}]}`)},
		"half an answer, and a status": {200, `{"children":[` + secret + `,{"kind":"Secret","data":{"other":"aHVudGVyMiE="}}],"status":"aHVudGVyMiE=",`, `status must be a JSON object, not "xxxxx"`},
		"a child in YAML": {500, "no room for\napiVersion: v1\nkind: Secret\ndata:\n  password: aHVudGVyMiE=\n",
			"body: (not shown: it contains Secrets) (200 is expected)"},
		"a child as Go prints it": {
			500, "no room for &Secret{Data:map[string][]byte{password: [104 117 110 116 101 114 50 33],},}",
			"body: (not shown: it contains Secrets) (200 is expected)",
		},
		"a time that is none": {
			200, `{"children":[{"apiVersion":"v1","kind":"Secret","metadata":{"creationTimestamp":"aHVudGVyMiE="}}]}`,
			`children[0]: (not shown: it contains Secrets)`,
		},
		"half an answer": {
			200, `{"children":[{"apiVersion":"v1","kind":"Secret","data":{"password":"aHVudGVyMiE`,
			`it ends unexpectedly in line 1; the answer is ` +
				strconv.Quote(`{"children":[{"apiVersion":xxxxx,"kind":xxxxx,"data":{"password":xxxxx`),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := webhook(t, serve(t, answer(test.status, test.body)), "").SyncComposite(t.Context(), snapshot(t))
			if err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("error is\n%v\nwant\n%s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "aHVu") {
				t.Errorf("the error tells what is secret: %v", err)
			}
		})
	}
	t.Run("of a customize hook", func(t *testing.T) {
		about := snapshot(t)
		about.Parent = parsed(t, secret)
		address := serve(t, answer(200, `{"relatedResources":[{"apiVersion":"v1","resource":"pods","labelSelector":{"matchLabels":{"a":"aHVudGVyMiE="}}}]}`))
		_, _, err := customizeHook(t, address, v1alpha1.HookVersionV1).Customize(t.Context(), about)
		if err == nil || strings.Contains(err.Error(), "aHVu") || !strings.Contains(err.Error(), "xxxxx") {
			t.Errorf("error is %v", err)
		}
	})
}

// What is secret in the request is so in the answer, whatever the hook makes of it. Whatever else
// the hook says is shown.
func TestErrorsDoNotQuoteTheSecretsOfTheRequest(t *testing.T) {
	secrets, pods := typeOf("", "v1", "Secret"), typeOf("", "v1", "Pod")
	secret := func(values []string) *object.Object {
		data, applied := map[string][]byte{}, map[string]any{"kind": "Secret", "apiVersion": "v1", "stringData": map[string]string{"former": values[1]}}
		data["word"] = []byte(values[0])
		text, err := json.Marshal(applied)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": data, "stringData": map[string]string{"plain": values[2]},
			"metadata": map[string]any{"name": "s", "namespace": "default", "annotations": map[string]string{"kubectl.kubernetes.io/last-applied-configuration": string(text)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return parsed(t, string(raw))
	}
	places := map[string]func(*pipeline.Snapshot, *object.Object){
		"the parent": func(s *pipeline.Snapshot, o *object.Object) { s.Parent = o },
		"a child": func(s *pipeline.Snapshot, o *object.Object) {
			s.Children = []pipeline.Group{{Type: pods}, {Type: secrets, Claimed: []*object.Object{o}}}
		},
		"a related one": func(s *pipeline.Snapshot, o *object.Object) {
			s.Related = []pipeline.Related{{Type: secrets, Objects: []*object.Object{o}}}
		},
	}
	var body atomic.Pointer[string]
	var status atomic.Int32
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, *body.Load())
	})
	for place, put := range places {
		t.Run(place, func(t *testing.T) {
			random := rand.New(rand.NewPCG(15, 12))
			var logged strings.Builder
			logger := funcr.New(func(_, line string) { logged.WriteString(line + "\n") }, funcr.Options{Verbosity: 6})
			for range 300 {
				values := []string{randomSecret(random), randomSecret(random), randomSecret(random)}
				about := snapshot(t)
				put(about, secret(values))
				told := values[random.IntN(len(values))]
				said := echoes[random.IntN(len(echoes))](told)
				body.Store(&said)
				status.Store([]int32{200, 500}[random.IntN(2)])
				logged.Reset()
				_, err := webhook(t, address, "").SyncComposite(klog.NewContext(t.Context(), logger), about)
				if err == nil {
					t.Fatalf("the call succeeds with %s", said)
				}
				for _, text := range []string{err.Error(), logged.String()} {
					unquoted := strings.ReplaceAll(text, `\\`, `\`)
					for _, value := range values {
						for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value)), strings.Trim(strconv.Quote(value), `"`)} {
							if strings.Contains(text, form) || strings.Contains(unquoted, form) {
								t.Fatalf("the hook said\n%s\nshown is\n%s\nwith the value %q", said, text, value)
							}
						}
					}
				}
				if !strings.Contains(err.Error(), "oops") {
					t.Fatalf("the hook said\n%s\nand nothing is shown of it: %v", said, err)
				}
			}
		})
	}
}

// echoes are the ways in which a hook tells a value that it was sent.
var echoes = []func(value string) string{
	func(value string) string { return "oops " + value },
	func(value string) string { return "oops <" + strings.Repeat(value+" ", 10) + ">" },
	func(value string) string {
		return "oops: Secret has " + base64.StdEncoding.EncodeToString([]byte(value)) + ", no " + value
	},
	func(value string) string {
		return "oops " + traceback + "{'kind': 'Secret', 'data': {'x': '" + value + "'}}"
	},
	func(value string) string { return "oops\n" + strconv.Quote(value) + "\n" + strconv.QuoteToASCII(value) },
	func(value string) string { return fmt.Sprintf(`{"status":%q}`, "oops") + value },
	func(value string) string { return inJSON(map[string]any{"status": "oops " + value}) },
	func(value string) string { return inJSON(map[string]any{"children": map[string]any{"oops": value}}) },
	func(value string) string {
		return inJSON([]any{"oops", value, base64.StdEncoding.EncodeToString([]byte(value))})
	},
	func(value string) string {
		return inJSON(map[string]any{"oops": "no " + inJSON(map[string]any{"kind": "Secret", "stringData": map[string]any{"x": value}})})[1:]
	},
	func(value string) string {
		return inJSON([]any{"oops", map[string]any{"kind": "Secret", "apiVersion": "v1", "data": map[string]any{"x": []byte(value)}}})
	},
	func(value string) string {
		return inJSON([]any{"oops", map[string]any{"kind": "Secret", "stringData": map[string]any{"y": value}}})[:len(value)/2+45]
	},
}

func inJSON(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// randomSecret returns a value that cannot be in the fixed parts of a text.
func randomSecret(random *rand.Rand) string {
	var value strings.Builder
	for range 4 + random.IntN(40) {
		value.WriteString([]string{"q", "Z", "7", "#", "+", "/", "ü", "\\", "%", "&", "j", "K", "W"}[random.IntN(13)])
	}
	return "Qz7" + value.String()
}

// A hook is sent its controller, with the addresses of all hooks.
func TestWhatIsSecretInTheAddressesOfHooksIsNotShown(t *testing.T) {
	echo := ""
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, echo) })
	sync := strings.Replace(address, "http://", "http://robot:open-sesame@", 1) + "/sync?key=7f3a-9b2c&pretty=true"
	const finalize = "http://other:say%20friend@hooks.example/finalize"
	about := snapshot(t)
	about.Controller = []byte(`{"kind":"CompositeController","metadata":{"annotations":{"applied":` + strconv.Quote(`{"url":"`+sync+`"}`) + `}},` +
		`"spec":{"hooks":{"sync":{"webhook":{"url":` + strconv.Quote(sync) + `}},"finalize":{"webhook":{"url":` + strconv.Quote(finalize) + `}}}}}`)
	for name, answered := range map[string]string{
		"in a status":                 `{"status":"open-sesame 7f3a-9b2c say friend"}`,
		"in a field that is unknown":  `{"open-sesame":1,"7f3a-9b2c":2,"say friend":3}`,
		"in the header that was sent": `Basic cm9ib3Q6b3Blbi1zZXNhbWU=`,
		"in what is no JSON":          `robot:open-sesame@ key=7f3a-9b2c say%20friend`,
	} {
		t.Run(name, func(t *testing.T) {
			echo = answered
			var logged strings.Builder
			logger := funcr.New(func(_, line string) { logged.WriteString(line + "\n") }, funcr.Options{Verbosity: 6})
			response, err := webhook(t, sync, "").SyncComposite(klog.NewContext(t.Context(), logger), about)
			shown := logged.String()
			if err != nil {
				shown += err.Error()
			}
			if response != nil {
				for _, warning := range response.Warnings {
					shown += warning.Message
				}
			}
			for _, hidden := range []string{"robot:", "open-sesame", "7f3a", "pretty", "say friend", "say%20friend", "cm9ib3Q"} {
				if strings.Contains(shown, hidden) {
					t.Errorf("%s is in\n%s", hidden, shown)
				}
			}
			if !strings.Contains(shown, "hooks.example/finalize") {
				t.Errorf("the rest of an address is not shown:\n%s", shown)
			}
		})
	}
}

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

// The requests of Metacontroller 4.17. Each field must be there, and no other may.
type (
	compositeRequest struct {
		Controller *json.RawMessage                       `json:"controller"`
		Parent     *json.RawMessage                       `json:"parent"`
		Children   *map[string]map[string]json.RawMessage `json:"children"`
		Related    *map[string]map[string]json.RawMessage `json:"related"`
		Finalizing *bool                                  `json:"finalizing"`
	}
	decoratorRequest struct {
		Controller  *json.RawMessage                       `json:"controller"`
		Object      *json.RawMessage                       `json:"object"`
		Attachments *map[string]map[string]json.RawMessage `json:"attachments"`
		Related     *map[string]map[string]json.RawMessage `json:"related"`
		Finalizing  *bool                                  `json:"finalizing"`
	}
	customizeRequest struct {
		Controller *json.RawMessage `json:"controller"`
		Parent     *json.RawMessage `json:"parent"`
	}
)

// Hooks of Metacontroller may refuse fields that they do not know. What is more to be said is in headers.
func TestHooksWithClosedTypesAcceptAllRequests(t *testing.T) {
	composite := func(w *Webhook, about *pipeline.Snapshot) error {
		_, err := w.SyncComposite(t.Context(), about)
		return err
	}
	decorator := func(w *Webhook, about *pipeline.Snapshot) error {
		_, err := w.SyncDecorator(t.Context(), about)
		return err
	}
	customize := func(w *Webhook, about *pipeline.Snapshot) error {
		_, _, err := w.Customize(t.Context(), about)
		return err
	}
	for _, test := range []struct {
		title, hook string
		call        func(w *Webhook, about *pipeline.Snapshot) error
		closed      func() any
	}{
		{"composite sync", Sync, composite, func() any { return &compositeRequest{} }},
		{"composite finalize", Finalize, composite, func() any { return &compositeRequest{} }},
		{"decorator sync", Sync, decorator, func() any { return &decoratorRequest{} }},
		{"decorator finalize", Finalize, decorator, func() any { return &decoratorRequest{} }},
		{"customize", Customize, customize, func() any { return &customizeRequest{} }},
	} {
		for _, version := range []v1alpha1.HookVersion{v1alpha1.HookVersionV1, v1alpha1.HookVersionV2} {
			for _, isPreview := range []bool{false, true} {
				title := test.title + " " + string(version)
				if isPreview {
					title += ", for a preview"
				}
				t.Run(title, func(t *testing.T) {
					trigger := ""
					url := serve(t, func(w http.ResponseWriter, r *http.Request) {
						trigger = r.Header.Get("X-Metacontroller-Trigger")
						if err := decodeClosed(r.Body, test.closed()); err != nil {
							w.WriteHeader(http.StatusBadRequest)
							_, _ = io.WriteString(w, err.Error())
							return
						}
						_, _ = io.WriteString(w, `{}`)
					})
					made, err := New(test.hook, &v1alpha1.Hook{Version: &version, Webhook: &v1alpha1.Webhook{URL: &url}}, nil,
						Options{Limits: Limits{MaxResponseBytes: limit}})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(made.Close)
					if isPreview {
						made = previewOf(made, asked, &[]Call{})
					}
					about := snapshot(t)
					about.Trigger, about.Finalizing = pipeline.TriggerChild, test.hook == Finalize
					pod := parsed(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"}}`)
					about.Children = []pipeline.Group{{Type: object.Type{Kind: "Pod"}, Claimed: []*object.Object{pod}}}
					about.Related = []pipeline.Related{{Type: object.Type{Kind: "Pod"}, Objects: []*object.Object{pod}}}
					if err := test.call(made, about); err != nil {
						t.Error(err)
					}
					if trigger != "child" {
						t.Errorf("the header says that the trigger is %q", trigger)
					}
				})
			}
		}
	}
}

// decodeClosed decodes a request whose fields are all pointers.
func decodeClosed(body io.Reader, into any) error {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	again, err := json.Marshal(into)
	if err != nil {
		return err
	}
	return object.Members(again, func(name string, value []byte) error {
		if string(value) == "null" {
			return &json.UnmarshalTypeError{Value: "null", Field: name}
		}
		return nil
	})
}
