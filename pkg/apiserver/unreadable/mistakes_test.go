// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package unreadable

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func texts(mistakes []Mistake) (texts []string) {
	for _, mistake := range mistakes {
		texts = append(texts, mistake.String())
	}
	return texts
}

func TestInObject(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"a condition's status without quotation marks": {
			`spec: {childResources: [{}, {updateStrategy: {statusChecks: {conditions: [{type: Ready, status: True}]}}}]}`,
			[]string{`spec.childResources[1].updateStrategy.statusChecks.conditions[0].status: must be a string, and is the boolean true; in YAML, write "True" with the quotation marks`},
		},
		"another boolean that is to be a string": {
			`metadata: {labels: {a: true}}`,
			[]string{`metadata.labels[a]: must be a string, and is the boolean true; in YAML, write "true" with the quotation marks`},
		},
		"a number that is to be a string": {
			`spec: {hooks: {sync: {webhook: {timeout: 10}}}}`,
			[]string{`spec.hooks.sync.webhook.timeout: must be a string, and is the number 10; write "10" with the quotation marks`},
		},
		"an object that is to be a string": {
			`metadata: {name: {a: b}}`, []string{`metadata.name: must be a string, and is an object`},
		},
		"a string that is an integer": {
			`spec: {resyncPeriodSeconds: "3"}`,
			[]string{`spec.resyncPeriodSeconds: must be an integer, and is the string "3"; write it without quotation marks`},
		},
		"a string that is to be an integer": {
			`spec: {resyncPeriodSeconds: 10s}`, []string{`spec.resyncPeriodSeconds: must be an integer of 32 bits, and is the string "10s"`},
		},
		"a fraction": {
			`spec: {resyncPeriodSeconds: 1.5}`, []string{`spec.resyncPeriodSeconds: must be an integer of 32 bits, and is the number 1.5`},
		},
		"a number that is too large": {
			`spec: {resyncPeriodSeconds: 3000000000}`, []string{`spec.resyncPeriodSeconds: must be an integer of 32 bits, and is the number 3000000000`},
		},
		"a string that is a boolean": {
			`spec: {generateSelector: "true"}`, []string{`spec.generateSelector: must be true or false, and is the string "true"; write it without quotation marks`},
		},
		"a string that is to be a boolean": {
			`spec: {generateSelector: "on"}`, []string{`spec.generateSelector: must be true or false, and is the string "on"`},
		},
		"an object that is to be a list": {
			`spec: {childResources: {resource: pods}}`, []string{`spec.childResources: must be a list, and is an object; in YAML, each item begins with a dash`},
		},
		"a list that is to be an object": {
			`spec: {hooks: [{sync: {}}]}`, []string{`spec.hooks: must be an object, and is a list`},
		},
		"a time that is none": {
			`metadata: {creationTimestamp: today}`,
			[]string{`metadata.creationTimestamp: the string "today" cannot be read here: parsing time "today" as "2006-01-02T15:04:05Z07:00": cannot parse "today" as "2006"`},
		},
		"a long string": {
			`spec: {resyncPeriodSeconds: "` + longText + longText + `"}`,
			[]string{`spec.resyncPeriodSeconds: must be an integer of 32 bits, and is the string "` + longText + `…"`},
		},
		"a misspelt field": {`spec: {childResource: []}`, []string{`spec.childResource: unknown field; did you mean "childResources"?`}},
		"a misspelt field of metadata": {
			`metadata: {label: {}}`, []string{`metadata.label: unknown field; did you mean "labels"?`},
		},
		"a field that is like no other": {`spec: {replicas: 3}`, []string{`spec.replicas: unknown field`}},
		"two mistakes": {`{spec: {hoks: {}, resyncPeriodSeconds: "3"}}`, []string{
			`spec.hoks: unknown field; did you mean "hooks"?`,
			`spec.resyncPeriodSeconds: must be an integer, and is the string "3"; write it without quotation marks`,
		}},
		"null, which is nothing":        {`spec: {hooks: null, resyncPeriodSeconds: null}`, nil},
		"directives of a patch":         {`spec: {$retainKeys: [hooks], $setElementOrder/childResources: []}`, nil},
		"an object that is all right":   {`{apiVersion: v1, kind: x, metadata: {name: a}, spec: {resyncPeriodSeconds: 3}}`, nil},
		"what is neither JSON nor YAML": {`{`, nil},
		"what is no object":             {`[]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := texts(InObject(reflect.TypeFor[v1alpha1.CompositeController](), []byte(test.body), true))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

const longText = "123456789 123456789 123456789 123456789 123456789 123456789 "

func TestUnknownFieldsThatMayBeThere(t *testing.T) {
	body := []byte(`spec: {hoks: {}}`)
	if got := InObject(reflect.TypeFor[v1alpha1.CompositeController](), body, false); len(got) > 0 {
		t.Errorf("mistakes are %v", got)
	}
}

func TestInPatch(t *testing.T) {
	for name, test := range map[string]struct {
		patch string
		want  []string
	}{
		"a value of the wrong type": {
			`[{"op": "add", "path": "/spec/resyncPeriodSeconds", "value": "3"}]`,
			[]string{`spec.resyncPeriodSeconds: must be an integer, and is the string "3"; write it without quotation marks`},
		},
		"an unknown field":                   {`[{"op": "replace", "path": "/spec/hoks", "value": {}}]`, []string{`spec.hoks: unknown field; did you mean "hooks"?`}},
		"a field in a value":                 {`[{"op": "add", "path": "/spec/childResources/-", "value": {"resources": "pods"}}]`, []string{`spec.childResources[-].resources: unknown field; did you mean "resource"?`}},
		"a path with a slash in a name":      {`[{"op": "add", "path": "/metadata/labels/a~1b", "value": 1}]`, []string{`metadata.labels[a/b]: must be a string, and is the number 1; write "1" with the quotation marks`}},
		"a path that goes on after a string": {`[{"op": "add", "path": "/metadata/name/x", "value": 1}]`, nil},
		"a path into what reads itself":      {`[{"op": "replace", "path": "/metadata/managedFields/0/fieldsV1/f:spec", "value": {}}]`, nil},
		"the whole object":                   {`[{"op": "replace", "path": "", "value": {"speck": {}}}]`, []string{`speck: unknown field; did you mean "spec"?`}},
		"what is removed":                    {`[{"op": "remove", "path": "/spec/hoks"}]`, nil},
		"what is no patch":                   {`{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, texts(inPatch(reflect.TypeFor[v1alpha1.CompositeController](), []byte(test.patch), true))); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABodyThatIsFullOfMistakesIsNotReadToItsEnd(t *testing.T) {
	body := []byte("{")
	for i := range 10 * maxMistakes {
		body = fmt.Appendf(body, "%q:1,", fmt.Sprint("x", i))
	}
	body = append(body[:len(body)-1], '}')
	if got := len(InObject(reflect.TypeFor[v1alpha1.CompositeController](), body, true)); got != maxMistakes {
		t.Errorf("found %d mistakes, want %d", got, maxMistakes)
	}
}
