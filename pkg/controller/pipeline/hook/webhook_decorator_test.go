// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestDecoratorRequest(t *testing.T) {
	const (
		target = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db","namespace":"default"}}`
		pod    = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"}}`
	)
	about := &pipeline.Snapshot{
		Controller: []byte(controller), Parent: parsed(t, target), Finalizing: true,
		Children: []pipeline.Group{{Type: typeOf("", "v1", "Pod"), Claimed: []*object.Object{parsed(t, pod)}}, {Type: typeOf("", "v1", "Service")}},
		Related:  []pipeline.Related{{Type: typeOf("", "v1", "ConfigMap")}},
	}
	for version, key := range map[v1alpha1.HookVersion]string{v1alpha1.HookVersionV1: "p", v1alpha1.HookVersionV2: "default/p"} {
		sent := make(chan string, 1)
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			sent <- string(body)
			_, _ = io.WriteString(w, "{}")
		})
		if _, err := ofMode(t, Finalize, address, version, "").SyncDecorator(t.Context(), about); err != nil {
			t.Fatal(err)
		}
		want := `{"controller":` + controller + `,"object":` + target + `,"attachments":{"Pod.v1":{"` + key + `":` + pod + `},"Service.v1":{}},"related":{"ConfigMap.v1":{}},"finalizing":true}`
		if diff := cmp.Diff(want, <-sent); diff != "" {
			t.Errorf("%s: request (-want +got):\n%s", version, diff)
		}
	}
}

func TestLabelsAndAnnotationsOfATarget(t *testing.T) {
	tests := map[string]struct {
		body                string
		labels, annotations map[string]*string
	}{
		"none":               {body: `{}`},
		"null":               {body: `{"labels":null,"annotations":null}`},
		"no keys":            {`{"labels":{},"annotations":{}}`, map[string]*string{}, map[string]*string{}},
		"values":             {`{"labels":{"a":"1","b":""},"annotations":{"x/y":"<&>\n"}}`, map[string]*string{"a": ptr.To("1"), "b": ptr.To("")}, map[string]*string{"x/y": ptr.To("<&>\n")}},
		"a null":             {body: `{"labels":{"a":null}}`, labels: map[string]*string{"a": nil}},
		"the last one":       {body: `{"labels":{"a":"1","a":null,"b":null,"b":"2"}}`, labels: map[string]*string{"a": nil, "b": ptr.To("2")}},
		"of the last field":  {body: `{"labels":{"a":"1"},"labels":{"b":"2"}}`, labels: map[string]*string{"b": ptr.To("2")}},
		"a key with escapes": {body: `{"labels":{"\u0061":"\u0031"}}`, labels: map[string]*string{"a": ptr.To("1")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			response, err := webhook(t, serve(t, answer(200, test.body)), "").SyncDecorator(t.Context(), snapshot(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&pipeline.Response{Labels: test.labels, Annotations: test.annotations, Hash: xxhash.Sum64String(test.body)}, response); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabelsAndAnnotationsThatAreRefused(t *testing.T) {
	const inV2 = "; with version: v2, unknown and duplicate fields are errors"
	for name, test := range map[string]struct{ body, want string }{
		"labels in a list":              {`{"labels":["a"]}`, `labels must be a JSON object, not ["a"]`},
		"annotations that are a string": {`{"annotations":"a"}`, `annotations must be a JSON object, not "a"`},
		"a label that is a number": {`{"labels":{"b":"1","a":1}}`, `labels[a] must be a string, or null to ` +
			`remove it, not 1`},
		"a label that is true": {`{"labels":{"a":true}}`, `labels[a] must be a string, or null to remove ` +
			`it, not true`},
		"an annotation that is an object": {`{"annotations":{"a":{"b":"c"}}}`, `annotations[a] must be a string, or ` +
			`null to remove it, not {"b":"c"}`},
		"children in place of attachments":    {`{"children":[]}`, `unknown field "children" (did you mean "attachments"?)` + inV2},
		"a label twice":                       {`{"labels":{"a":"1","a":"2"}}`, `duplicate field "labels.a"` + inV2},
		"an annotation twice, once an escape": {`{"annotations":{"a":"1","\u0061":"1"}}`, `duplicate field "annotations.a"` + inV2},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, answer(200, test.body))
			response, err := ofMode(t, Sync, address, v1alpha1.HookVersionV2, "").SyncDecorator(t.Context(), snapshot(t))
			if response != nil || err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("response %v with error\n%v\nwant one that ends with\n%s", response, err, test.want)
			}
		})
	}
}

// A composite's hook has no say in the labels of its parent.
func TestACompositesHookAnswersNoLabels(t *testing.T) {
	for _, field := range []string{"labels", "annotations", "attachments"} {
		body := `{"` + field + `":5}`
		address := serve(t, answer(200, body))
		response, err := ofMode(t, Sync, address, v1alpha1.HookVersionV1, "").SyncComposite(t.Context(), snapshot(t))
		ignored := cmpopts.IgnoreFields(pipeline.Response{}, "Warnings")
		if diff := cmp.Diff(&pipeline.Response{Hash: xxhash.Sum64String(body)}, response, ignored); diff != "" || err != nil {
			t.Errorf("%s: error %v, read (-want +got):\n%s", field, err, diff)
		}
		response, err = ofMode(t, Sync, address, v1alpha1.HookVersionV2, "").SyncComposite(t.Context(), snapshot(t))
		if response != nil || err == nil || !strings.Contains(err.Error(), `: unknown field "`+field+`"`) {
			t.Errorf("%s: response %v with error %v", field, response, err)
		}
	}
}

func TestQ1NullAttachmentsAreRefused(t *testing.T) {
	response, err := webhook(t, serve(t, answer(200, `{"attachments":[null]}`)), "").SyncDecorator(t.Context(), snapshot(t))
	if response != nil || err == nil || !strings.HasSuffix(err.Error(), `attachments[0] is null; it must be an object`) {
		t.Errorf("response %v with error %v", response, err)
	}
}

func TestRefusedLabelsOfASecretDoNotShowItsValues(t *testing.T) {
	about := &pipeline.Snapshot{Controller: []byte(controller), Parent: parsed(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"default"},"data":{"word":"aHVudGVyMg=="}}`)}
	_, err := webhook(t, serve(t, answer(200, `{"labels":{"a":{"password":"hunter2"}}}`)), "").SyncDecorator(t.Context(), about)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error is %v", err)
	}
}
