// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"

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
