// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestWhatIsSaidIsLoggedUnlessThereAreSecretsInIt(t *testing.T) {
	const (
		web    = `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default"},"spec":{"word":"in-request"}}`
		pod    = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"}}`
		secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"default"},"data":{"word":"in-request in-answer"}}`
	)
	tests := map[string]struct {
		parent, child, answer       string
		verbosity                   int
		showsRequest, showsResponse bool
	}{
		"both are shown":                             {web, pod, `{"status":{"word":"in-answer"}}`, 6, true, true},
		"neither is at a lower level":                {web, pod, `{"status":{"word":"in-answer"}}`, 5, false, false},
		"a request with a Secret is not":             {web, secret, `{"status":{"word":"in-answer"}}`, 6, false, false},
		"an answer with a Secret is not":             {web, pod, `{"children":[` + pod + `,` + secret + `]}`, 6, true, false},
		"nor is what is said about one":              {secret, pod, `{"status":{"word":"in-answer"}}`, 6, false, false},
		"an answer that cannot be read is not shown": {web, pod, `{"children":["in-answer"]}`, 6, true, false},
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
			if strings.Contains(logged.String(), "s3cret") {
				t.Errorf("the password is logged:\n%s", logged.String())
			}
		})
	}
}
