// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// FuzzDecodeResponse holds for any answer, to either kind of controller, that it is read or refused as malformed,
// and that what is read is fit for what comes after.
func FuzzDecodeResponse(f *testing.F) {
	for _, seed := range []string{
		`{"status":{"a":1},"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}}}],"resyncAfterSeconds":1.5,"finalized":true}`,
		`null`, `{}`, `[]`, ``, `{"children":[null]}`, `{"children":{}}`, `{"status":"x"}`, `{"resyncAfterSeconds":-1e309}`,
		`{"children":[{"kind":"Pod","kind":null}],"children":null}`, "{\"\xff\":{\"kind\":\"\xff\"}}", `{"status":`, `<html>`,
		`{"labels":{"a":"1","b":null},"annotations":{"a":"\ud800"},"attachments":[{"kind":"Pod"}]}`, `{"labels":{"a":1}}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, decorator bool) {
		format := Composite()
		if decorator {
			format = Decorator()
		}
		response, err := (&Decoder{}).Response(format, body)
		if err != nil {
			if response != nil || !errors.Is(err, ErrMalformed) {
				t.Errorf("response %v with error %v", response, err)
			}
			return
		}
		if response.ResyncAfter < 0 || response.ResyncAfter > maxResyncAfter {
			t.Errorf("sync again after %s", response.ResyncAfter)
		}
		if response.Status != nil && response.Status[0] != '{' {
			t.Errorf("status %s", response.Status)
		}
		if !decorator && (response.Labels != nil || response.Annotations != nil) {
			t.Errorf("labels %v, annotations %v", response.Labels, response.Annotations)
		}
		for _, child := range response.Children {
			if child == nil || child.Kind == "" {
				t.Errorf("child %v", child)
			}
		}
		if !json.Valid(body) {
			t.Errorf("%q was read, but is no JSON", body)
		}
		strict := &Decoder{FindDuplicates: true, Redactor: redact.Redactor{Answer: body}}
		if _, err := strict.Response(format, body); err != nil {
			t.Errorf("%q is read, but not closely: %v", body, err)
		}
	})
}

// FuzzDecodeCustomize holds for any answer that it is read or refused as malformed, and
// that rules ask for what can be looked for.
func FuzzDecodeCustomize(f *testing.F) {
	for _, seed := range []string{
		`{"relatedResources":[{"apiVersion":"v1","resource":"pods","namespace":"n","names":["a"]},{"apiVersion":"apps/v1","resource":"deployments","labelSelector":{"matchLabels":{"a":"b"}},"namespaceSelector":{}}]}`,
		`null`, `{}`, `[]`, ``, `{"relatedResources":[null]}`, `{"relatedResources":{}}`, `{"relatedResources":null,"relatedResources":[]}`,
		`{"relatedResources":[{"apiVersion":"v1","resource":"pods","labelSelector":{"matchExpressions":[{"key":"a","operator":"In","values":[""]}]}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		rules, err := (&Decoder{}).RelatedRules(body)
		if err != nil {
			if rules != nil || !errors.Is(err, ErrMalformed) {
				t.Errorf("rules %v with error %v", rules, err)
			}
			return
		}
		for _, rule := range rules {
			selects := rule.LabelSelector != nil || rule.NamespaceSelector != nil
			if rule.APIVersion == "" || rule.Resource == "" || len(rule.Names) > 0 && selects || rule.Namespace != "" && rule.NamespaceSelector != nil {
				t.Errorf("rule %+v", rule)
			}
		}
	})
}
