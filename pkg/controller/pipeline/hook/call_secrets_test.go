// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
		"a child in YAML":              {500, "no room for\napiVersion: v1\nkind: Secret\ndata:\n  password: aHVudGVyMiE=\n", "body: (not shown, there are Secrets in it) (200 is expected)"},
		"a child as Go prints it":      {500, "no room for &Secret{Data:map[string][]byte{password: [104 117 110 116 101 114 50 33],},}", "body: (not shown, there are Secrets in it) (200 is expected)"},
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
		"a time that is none":          {200, `{"children":[{"apiVersion":"v1","kind":"Secret","metadata":{"creationTimestamp":"aHVudGVyMiE="}}]}`, `children[0]: (not shown, there are Secrets in it)`},
		"something behind the answer":  {200, `{"children":[` + secret + `]} aHVudGVyMiE=`, `; the answer is ` + strconv.Quote(`{"children":[{"apiVersion":xxxxx,"kind":xxxxx,"metadata":{"name":xxxxx},"data":{"password":xxxxx},"stringData":{"pin":xxxxx}}]} xxxxx`)},
		"broken JSON":                  {200, `{"children":[{"apiVersion":"v1","kind":"Secret","data":{"password":aHVudGVyMiE=}}]}`, `invalid character 'a' at start of value in line 1; the answer is ` + strconv.Quote(`{"children":[{"apiVersion":xxxxx,"kind":xxxxx,"data":{"password":xxxxx}}]}`)},
		"half an answer":               {200, `{"children":[{"apiVersion":"v1","kind":"Secret","data":{"password":"aHVudGVyMiE`, `it ends too early, in line 1; the answer is ` + strconv.Quote(`{"children":[{"apiVersion":xxxxx,"kind":xxxxx,"data":{"password":xxxxx`)},
		"half an answer, and a status": {200, `{"children":[` + secret + `,{"kind":"Secret","data":{"other":"aHVudGVyMiE="}}],"status":"aHVudGVyMiE=",`, `status must be a JSON object, not "xxxxx"`},
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
