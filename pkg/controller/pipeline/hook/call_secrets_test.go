// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestErrorsDoNotQuoteAnswersWithSecrets(t *testing.T) {
	const hidden = "(not shown, there are Secrets in it)"
	secret := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"password":"cGFzcw=="}}`
	tests := map[string]struct {
		status     int
		body, want string
	}{
		"a refusal": {500, `cannot make Secret {"password":"cGFzcw=="}`, "unsupported status code: 500 body: " + hidden + " (200 is expected)"},
		"no JSON":   {200, `Secret cGFzcw==`, "it must be a JSON object, but it starts with " + hidden},
		"a list":    {200, `[` + secret + `]`, "it must be a JSON object, but it starts with " + hidden},
		"children in an object": {
			200, `{"children":` + secret + `}`, `field "children": must be a list of objects, not ` + hidden,
		},
		"a status that is a string":   {200, `{"children":[` + secret + `],"status":"cGFzcw=="}`, `field "status": must be a JSON object, not ` + hidden},
		"seconds that are a string":   {200, `{"children":[` + secret + `],"resyncAfterSeconds":"cGFzcw=="}`, `field "resyncAfterSeconds": must be a number of seconds, not ` + hidden},
		"finalized in a string":       {200, `{"children":[` + secret + `],"finalized":"cGFzcw=="}`, `field "finalized": must be true or false, not ` + hidden},
		"a child without a kind":      {200, `{"children":[` + secret + `,{"apiVersion":"v1","data":{"password":"cGFzcw=="}}]}`, `field "children": entry 1: Object 'Kind' is missing in ` + hidden},
		"a child that is a string":    {200, `{"children":[` + secret + `,"cGFzcw=="]}`, `field "children": entry 1: expected an object`},
		"a label of the wrong type":   {200, `{"children":[{"apiVersion":"v1","kind":"Secret","metadata":{"labels":{"a":["cGFzcw=="]}}}]}`, `field "children": entry 0: metadata.labels[a]: expected a string`},
		"a time that is none":         {200, `{"children":[{"apiVersion":"v1","kind":"Secret","metadata":{"creationTimestamp":"cGFzcw=="}}]}`, `field "children": entry 0: ` + hidden},
		"something behind the answer": {200, `{"children":[` + secret + `]} cGFzcw==`, "the hook's answer cannot be read: " + hidden},
		"broken JSON":                 {200, `{"children":[{"apiVersion":"v1","kind":"Secret","data":{"password":cGFzcw==}}]}`, `invalid character 'c' at start of value within "/children/0/data/password" after offset 67`},
		"half an answer":              {200, `{"children":[{"apiVersion":"v1","kind":"Secret","data":{"password":"cGFzcw==`, `unexpected EOF within "/children/0/data/password" after offset 76`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := webhook(t, serve(t, answer(test.status, test.body)), "").SyncComposite(t.Context(), snapshot(t))
			if err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("error is\n%v\nwant\n%s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "cGFz") {
				t.Errorf("the error tells what is secret: %v", err)
			}
		})
	}
	t.Run("of a customize hook", func(t *testing.T) {
		address := serve(t, answer(200, `{"relatedResources":[{"kind":"Secret"},"cGFzcw=="]}`))
		_, err := customizeHook(t, address, v1alpha1.HookVersionV1).Customize(t.Context(), snapshot(t))
		if err == nil || strings.Contains(err.Error(), "cGFz") {
			t.Errorf("error is %v", err)
		}
	})
}

func TestErrorsDoNotQuoteAnswersToQuestionsAboutSecrets(t *testing.T) {
	secret := parsed(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"default"}}`)
	secrets, pods := typeOf("", "v1", "Secret"), typeOf("", "v1", "Pod")
	tests := map[string]struct {
		change func(*pipeline.Snapshot)
		shown  bool
	}{
		"without Secrets":        {func(s *pipeline.Snapshot) { s.Children = []pipeline.Group{{Type: pods}} }, true},
		"a Secret is the parent": {func(s *pipeline.Snapshot) { s.Parent = secret }, false},
		"a Secret is a child": {func(s *pipeline.Snapshot) {
			s.Children = []pipeline.Group{{Type: secrets, Claimed: []*object.Object{secret}}}
		}, false},
		"children may be Secrets": {func(s *pipeline.Snapshot) { s.Children = []pipeline.Group{{Type: pods}, {Type: secrets}} }, false},
		"a Secret is related": {func(s *pipeline.Snapshot) {
			s.Related = []pipeline.Related{{Type: secrets, Objects: []*object.Object{secret}}}
		}, false},
		"a type of that name in another group": {func(s *pipeline.Snapshot) {
			s.Children = []pipeline.Group{{Type: typeOf("vault.example", "v1", "Secret")}}
		}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			about := snapshot(t)
			test.change(about)
			for _, status := range []int{200, 500} {
				_, err := webhook(t, serve(t, answer(status, "pass")), "").SyncComposite(t.Context(), about)
				if err == nil || strings.Contains(err.Error(), "pass") != test.shown {
					t.Errorf("error is %v, and shown is to be %v", err, test.shown)
				}
			}
		})
	}
}
