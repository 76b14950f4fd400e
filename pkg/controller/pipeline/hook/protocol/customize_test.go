// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func TestACustomizeRequestIsMadeInOnePiece(t *testing.T) {
	about := &pipeline.Snapshot{
		Controller: []byte(controller),
		Parent:     parsed(t, `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default"}}`),
	}
	alloctest.AtMost(t, 1, func() { AppendCustomizeRequest(nil, about) })
}

// rule is a pipeline.RelatedRule that can be compared: absent selectors are nil.
type rule struct {
	APIVersion, Resource             string
	LabelSelector, NamespaceSelector *string
	Namespace                        string
	Names                            []string
}

func readable(rules []pipeline.RelatedRule) []rule {
	text := func(selector labels.Selector) *string {
		if selector == nil {
			return nil
		}
		return ptr.To(selector.String())
	}
	var result []rule
	for _, r := range rules {
		result = append(result, rule{r.APIVersion, r.Resource, text(r.LabelSelector), text(r.NamespaceSelector), r.Namespace, r.Names})
	}
	return result
}

func TestRelatedRules(t *testing.T) {
	secrets := rule{APIVersion: "v1", Resource: "secrets"}
	of := func(change func(*rule)) []rule {
		changed := secrets
		change(&changed)
		return []rule{changed}
	}
	tests := map[string]struct {
		body string
		want []rule
	}{
		"none in an empty answer":     {body: `{}`},
		"none in null":                {body: `null`},
		"none in a null field":        {body: `{"relatedResources":null}`},
		"none in an empty list":       {body: `{"relatedResources":[]}`},
		"all objects of a type":       {`{"relatedResources":[{"apiVersion":"v1","resource":"secrets"}]}`, []rule{secrets}},
		"two rules for the same type": {`{"relatedResources":[{"apiVersion":"v1","resource":"secrets"},{"apiVersion":"v1","resource":"secrets"}]}`, []rule{secrets, secrets}},
		"a type of a group": {
			`{"relatedResources":[{"apiVersion":"apps/v1","resource":"deployments"}]}`, []rule{{APIVersion: "apps/v1", Resource: "deployments"}},
		},
		"nulls stand for what is not there": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"secrets","labelSelector":null,"namespaceSelector":null,"namespace":null,"names":null}]}`, []rule{secrets},
		},
		"labels": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"secrets","labelSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"In","values":["d"]}]}}]}`,
			of(func(r *rule) { r.LabelSelector = ptr.To("a=b,c in (d)") }),
		},
		"an empty label selector selects everything": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"secrets","labelSelector":{}}]}`, of(func(r *rule) { r.LabelSelector = ptr.To("") }),
		},
		"labels in a namespace": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"secrets","labelSelector":{"matchLabels":{"a":"b"}},"namespace":"n"}]}`,
			of(func(r *rule) { r.LabelSelector, r.Namespace = ptr.To("a=b"), "n" }),
		},
		"labels of namespaces": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"secrets","namespaceSelector":{"matchLabels":{"a":"b"}}}]}`,
			of(func(r *rule) { r.NamespaceSelector = ptr.To("a=b") }),
		},
		"an empty namespace selector selects all namespaces": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"secrets","namespaceSelector":{}}]}`, of(func(r *rule) { r.NamespaceSelector = ptr.To("") }),
		},
		"labels and labels of namespaces": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"secrets","labelSelector":{"matchLabels":{"c":"d"}},"namespaceSelector":{"matchLabels":{"a":"b"}}}]}`,
			of(func(r *rule) { r.LabelSelector, r.NamespaceSelector = ptr.To("c=d"), ptr.To("a=b") }),
		},
		"names": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"secrets","names":["a","b"]}]}`, of(func(r *rule) { r.Names = []string{"a", "b"} }),
		},
		"names in a namespace": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"secrets","namespace":"n","names":["a"]}]}`,
			of(func(r *rule) { r.Namespace, r.Names = "n", []string{"a"} }),
		},
		"no names go with labels": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"secrets","names":[],"labelSelector":{}}]}`,
			of(func(r *rule) { r.Names, r.LabelSelector = []string{}, ptr.To("") }),
		},
		"of a field that is there twice the last counts": {
			`{"relatedResources":[{"apiVersion":"v1","resource":"pods"}],"relatedResources":[{"apiVersion":"v1","resource":"secrets"}]}`, []rule{secrets},
		},
		"fields it does not know": {`{"RelatedResources":[],"relatedResources":[{"apiVersion":"v1","resource":"secrets","Names":["a"]}]}`, []rule{secrets}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := (&Decoder{}).RelatedRules([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, readable(got)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRelatedRulesThatAreRefused(t *testing.T) {
	inRule := func(fields string) string {
		return `{"relatedResources":[{"apiVersion":"v1","resource":"pods"},{"apiVersion":"v1","resource":"secrets",` + fields + `}]}`
	}
	tests := map[string]struct{ body, want string }{
		"nothing":                    {``, "it is empty"},
		"a list":                     {`[]`, "it must be a JSON object"},
		"rules in an object":         {`{"relatedResources":{"a":1}}`, `relatedResources must be a list of rules, not {"a":1}`},
		"rules in a string":          {`{"relatedResources":"a"}`, `relatedResources must be a list of rules, not "a"`},
		"a rule that is null":        {`{"relatedResources":[null]}`, `relatedResources[0] must be a rule, which is a JSON object, not null`},
		"a rule that is a string":    {`{"relatedResources":["pods"]}`, `relatedResources[0] must be a rule, which is a JSON object, not "pods"`},
		"no apiVersion":              {`{"relatedResources":[{"resource":"pods"}]}`, `relatedResources[0]: apiVersion is missing`},
		"an apiVersion that is none": {`{"relatedResources":[{"apiVersion":"a/b/c","resource":"pods"}]}`, `relatedResources[0]: apiVersion must be "v1" or "<group>/<version>", not "a/b/c"`},
		"no resource":                {`{"relatedResources":[{"apiVersion":"v1"}]}`, `relatedResources[0]: resource is missing`},
		"names and labels":           {inRule(`"names":["a"],"labelSelector":{}`), `relatedResources[1]: names cannot be combined with labelSelector`},
		"names and labels of namespaces": {
			inRule(`"names":["a"],"namespaceSelector":{}`), `relatedResources[1]: names cannot be combined with namespaceSelector`,
		},
		"a namespace and labels of namespaces": {
			inRule(`"namespace":"n","namespaceSelector":{}`), `relatedResources[1]: namespace cannot be combined with namespaceSelector`,
		},
		"an operator there is not": {
			inRule(`"labelSelector":{"matchExpressions":[{"key":"a","operator":"Like"}]}`),
			`relatedResources[1]: labelSelector: "Like" is not a valid label selector operator`,
		},
		"no namespace has such a label": {
			inRule(`"namespaceSelector":{"matchLabels":{"a b":"c"}}`),
			`relatedResources[1]: namespaceSelector: key: Invalid value: "a b": name part must consist of alphanumeric ` +
				`characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or ` +
				`'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		},
		"names that are no list": {inRule(`"names":"a"`), `relatedResources[1]: names: a JSON string is not allowed ` +
			`here`},
		"a name that is a number": {inRule(`"names":[1]`), `relatedResources[1]: names: a JSON number is not allowed ` +
			`here`},
		"labels that are no strings": {inRule(`"labelSelector":{"matchLabels":{"a":1}}`), `relatedResources[1]: ` +
			`labelSelector.matchLabels: a JSON number is not allowed here`},
		"a selector that is a string": {inRule(`"labelSelector":"a=b"`), `relatedResources[1]: labelSelector: a JSON ` +
			`string is not allowed here`},
		"a namespace that is a list": {inRule(`"namespace":["a"]`), `relatedResources[1]: namespace: a JSON array is not ` +
			`allowed here`},
		"half of an answer": {`{"relatedResources":[{"apiVersion":`, `it ends unexpectedly in line 1, near ` +
			`{"relatedResources":[{"apiVersion":`},
		"something behind what is right": {`{} x`, `"x" follows the end`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := (&Decoder{}).RelatedRules([]byte(test.body))
			if err == nil {
				t.Fatalf("read as %v", got)
			}
			if got != nil || !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("read as %v with error\n%v\nwant\n%s", got, err, test.want)
			}
		})
	}
}
