// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// request is a request about a Website with two languages and one Deployment.
const request = `{
	"controller": {"metadata": {"name": "websites"}},
	"parent": {"metadata": {"name": "shop", "namespace": "default", "labels": {"team": "a"}},
		"spec": {"replicas": 2, "languages": ["en", "de"], "ratio": 0.5, "public": true, "empty": [],
			"ports": {"web": 80, "admin": 8080}, "title": "a \"b\"", "nothing": null}},
	"children": {"Deployment.apps/v1": {"default/shop-en": {"metadata": {"name": "shop-en"}, "status": ` +
	`{"readyReplicas": 2}}},
		"Service.v1": {}},
	"related": {}, "finalizing": false}`

func hookOf(t testing.TB, text string) *v1alpha1.InlineHook {
	t.Helper()
	var hook v1alpha1.InlineHook
	if err := yaml.UnmarshalStrict([]byte(text), &hook); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &hook
}

func compiled(t testing.TB, text string, form Form) *Template {
	t.Helper()
	template, errs := Compile(hookOf(t, text), form, field.NewPath("inline"))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return template
}

const limit = 1 << 20

func TestEvaluate(t *testing.T) {
	tests := map[string]struct{ hook, want string }{
		"nothing": {`{}`, `{}`},
		"literals": {`status: {a: [1, 1.5, true, null, "x"], "b c": {}}`,
			`{"status":{"a":[1,1.5,true,null,"x"],"b c":{}}}`},
		"an expression keeps its type": {`status: {i: "${parent.spec.replicas}", f: "${parent.spec.ratio}", b: ` +
			`"${parent.spec.public}",
			l: "${parent.spec.languages}", m: "${parent.spec.ports}", s: "${parent.spec.title}", z: "${parent.spec.nothing}"}`,
			`{"status":{"i":2,"f":0.5,"b":true,"l":["en","de"],"m":{"admin":8080,"web":80},"s":"a \"b\"","z":null}}`},
		"a text is put together": {`status: {s: "${parent.metadata.name}-${parent.spec.replicas}: ${parent.spec.public}"}`,
			`{"status":{"s":"shop-2: true"}}`},
		"an escaped beginning": {`status: {s: "echo $${HOME} $HOME ${parent.metadata.name} $$${parent.metadata.name}"}`,
			`{"status":{"s":"echo ${HOME} $HOME shop $${parent.metadata.name}"}}`},
		"braces in strings and maps": {`status: {s: "${{'a': {'}': '\\'{'}}}", r: "${r'\\}' + '}'}", c: "${1 // }\n + 1}"}`,
			`{"status":{"c":2,"r":"\\}}","s":{"a":{"}":"'{"}}}}`},
		"an absent optional leaves out its field and its item": {
			`status: {a: "${parent.spec.?title}", b: "${parent.spec.?gone}", c: ["${parent.spec.?gone}", "${1}"], d: ` +
				`"${optional.none()}"}`,
			`{"status":{"a":"a \"b\"","c":[1]}}`},
		"a field that is one expression": {`status: "${parent.spec.ports}"`, `{"status":{"admin":8080,"web":80}}`},
		"variables use the variables before them": {
			`{variables: [{name: one, expression: parent.spec.replicas}, {name: m, expression: "${variables.one + 1}"}], ` +
				`status: {m: "${variables.m}"}}`,
			`{"status":{"m":3}}`},
		"items of different types": {`status: {a: "${['a', 1, parent.spec.replicas]}", ` +
			`b: "${{'a': 'b', 'c': [1], 'd': parent.spec.?gone}}"}`,
			`{"status":{"a":["a",1,2],"b":{"a":"b","c":[1]}}}`},
		"optionals in variables": {
			`{variables: [{name: there, expression: "parent.?spec"}, {name: gone, expression: "parent.?gone"}],
			status: {a: "${variables.there.?replicas.orValue(0)}", b: "${variables.there.replicas}",
			c: "${variables.there.hasValue()}", d: "${variables.gone.?replicas.orValue(0)}",
			e: "${variables.gone.?replicas}", f: "${variables.gone.hasValue()}",
			g: "${variables.there[?'ports'].?web}", h: "${[1].map(i, variables.there.?ports.?admin)[0]}"}}`,
			`{"status":{"a":2,"b":2,"c":true,"d":0,"f":false,"g":80,"h":8080}}`},
		"a variable that is not used is not evaluated": {
			`{variables: [{name: bad, expression: "1 / 0"}], status: {ok: true}}`, `{"status":{"ok":true}}`},
		"the keys of children": {
			`{variables: [{name: d, expression: "children['Deployment.apps/v1']"}],
			status: {ready: "${variables.d.filter(name, variables.d[name].?status.?readyReplicas.orValue(0) > 0).size()}"}}`,
			`{"status":{"ready":1}}`},
		"no children": {`children: []`, `{"children":[]}`},
		"loops, conditions": {`children:
- forEach: {language: "${parent.spec.languages}", port: "${parent.spec.ports}"}
  when: ${language != 'en' || port == 'web'}
  object: {apiVersion: v1, kind: Service, metadata: {name: "${language}-${port}"}}
- {when: "parent.spec.replicas > 5", object: {apiVersion: v1, kind: Secret, metadata: {name: many}}}
- {forEach: {x: "parent.spec.?gone"}, object: {apiVersion: v1, kind: Secret, metadata: {name: "${x}"}}}
- {object: "${optional.none()}"}
- {object: "${{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'made', 'labels': parent.spec.?gone}}}"}`,
			`{"children":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"en-web"}},` +
				`{"apiVersion":"v1","kind":"Service","metadata":{"name":"de-admin"}},` +
				`{"apiVersion":"v1","kind":"Service","metadata":{"name":"de-web"}},` +
				`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"made"}}]}`},
		"the other fields": {`{resyncAfterSeconds: "${parent.spec.ratio}", events: [{reason: Seen, message: ` +
			`"${parent.metadata.name}"}]}`,
			`{"resyncAfterSeconds":0.5,"events":[{"reason":"Seen","message":"shop"}]}`},
		"functions": {`status: {a: "${base64.encode(b'hi')}", b: "${json.marshal(parent.spec.ports)}", c: ` +
			`"${yaml.marshal({'a': [1]})}",
			d: "${{'x': 1, 'y': 1}.merge({'y': 2})}", e: "${hash.sha256('a').substring(0, 8)}", f: ` +
			`"${json.unmarshal('{\"a\": [1]}').a[0]}",
			g: "${quantity('1Gi').add(quantity('1Gi'))}", h: "${['b', 'a'].sort().join('-')}", i: ` +
			`"${'%s-%d'.format(['a', 1])}"}`,
			`{"status":{"a":"aGk=","b":"{\"admin\":8080,\"web\":80}","c":"a:\n- 1\n","d":{"x":1,"y":2},"e":"ca978112","f":1,` +
				`"g":"2Gi","h":"a-b","i":"a-1"}}`},
		"texts are those of string()": {`status: {a: "a-${duration('1h')}", b: "${duration('90m')}", c: ` +
			`"a-${timestamp('2026-01-02T03:04:05Z')}", d: "a-${quantity('1Gi')}", e: "a-${null}", f: "a-${1e30}"}`,
			`{"status":{"a":"a-3600s","b":"5400s","c":"a-2026-01-02T03:04:05Z","d":"a-1Gi","e":"a-null","f":"a-1e+30"}}`},
		"a dollar sign before an expression": {`status: {a: "${'US$' + parent.metadata.name}", b: "US$${x}"}`,
			`{"status":{"a":"US$shop","b":"US${x}"}}`},
		"maps are in the order of their keys": {
			`status: {a: "${{'d': 1, 'a': 1, 'c': 1, 'b': 1}.map(k, k)}", b: "${parent.spec.ports.map(k, k)}",
			c: "${['d', 'a', 'c', 'b'].transformMapEntry(i, v, {v: i}).map(k, k)}", d: "${[{'z': 1, 'y': 1}].map(m, ` +
				`m.map(k, k))}",
			e: "${{'d': 1, 'a': 2, 'c': 3, 'b': 4}.transformMap(k, v, v).map(k, k)}", f: "${{'z': 0}.merge({'y': ` +
				`0}).map(k, k)}"}`,
			`{"status":{"a":["a","b","c","d"],"b":["admin","web"],"c":["a","b","c","d"],"d":[["y","z"]],"e":["a","b","c",` +
				`"d"],"f":["y","z"]}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			template := compiled(t, test.hook, Form{})
			for range 5 { // the same answer each time
				got, err := template.Evaluate(t.Context(), []byte(request), nil, limit, nil)
				if err != nil {
					t.Fatal(err)
				}
				var want, have any
				if err := errors.Join(json.Unmarshal([]byte(test.want), &want), json.Unmarshal(got, &have)); err != nil {
					t.Fatalf("%s: %v", got, err)
				}
				if diff := cmp.Diff(want, have); diff != "" {
					t.Fatalf("answer (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestEvaluateErrors(t *testing.T) {
	status := func(expression string) string {
		raw, _ := json.Marshal(map[string]any{"status": map[string]any{"x": "${" + expression + "}"}})
		return string(raw)
	}
	tests := map[string]struct{ hook, want string }{
		"a missing key": {status(`parent.spec.gone`), `status.x: no such key: gone (at 1:12 of the expression)`},
		"a division by zero": {status(`1 / (parent.spec.replicas - 2)`), `status.x: division by zero (at 1:3 of ` +
			`the expression)`},
		"an index too large": {status(`parent.spec.languages[7]`), `status.x: index out of bounds: 7 (at 1:22 of ` +
			`the expression)`},
		"types do not match": {status(`parent.spec.replicas + 'a'`), `status.x: no such overload: _+_(int, ` +
			`string) (at 1:22 of the expression)`},
		"not a number of JSON": {status(`1.0 / 0.0`), `status.x: the value is +Inf, which JSON cannot represent`},
		"a key that is not text": {status(`{1: 2}`), `status.x: the value has the key 1, and the keys of JSON objects ` +
			`are strings`},
		"a list in a text": {`status: {x: "a-${parent.spec.languages}"}`,
			`status.x: the value of ${parent.spec.languages} is of type list, which is neither JSON nor text`},
		"an absent optional in a text": {`status: {x: "a-${parent.spec.?gone}"}`,
			`status.x: the value of ${parent.spec.?gone} is an absent optional, which is allowed only if the expression is the whole string; add .orValue('')`},
		"an error of a variable": {`{variables: [{name: v, expression: parent.spec.gone.more}], status: {x: ` +
			`"${variables.v}"}}`,
			`variables[0].expression: no such key: gone (at 1:17 of the expression)`},
		"a variable that uses itself": {`{variables: [{name: v, expression: dyn(variables).v}], status: {x: ` +
			`"${variables.v}"}}`, `variables[0].expression: the variable v uses itself (at 1:15 of the expression)`},
		"variables that use each other": {`{variables: [{name: v, expression: dyn(variables).w}, ` +
			`{name: w, expression: variables.v}], status: {x: "${variables.v}"}}`,
			`variables[1].expression: the variable v uses itself (at 1:10 of the expression)`},
		"all variables": {`{variables: [{name: v, expression: json.marshal(variables)}], status: {x: "${variables.v}"}}`,
			`variables[0].expression: is the map of all variables; name one of them (at 1:13 of the expression)`},
		"a condition that is not one": {`children: [{when: parent.spec.replicas, object: {apiVersion: v1, kind: A, ` +
			`metadata: {name: a}}}]`,
			`children[0].when: the value must be true or false, not int`},
		"a loop over text": {`children: [{forEach: {x: parent.metadata.name}, object: {apiVersion: v1, kind: A, ` +
			`metadata: {name: a}}}]`,
			`children[0].forEach[x]: the value must be a list or a map, not string`},
		"a loop over a number": {`children: [{forEach: {x: parent.spec.replicas}, object: {apiVersion: v1, kind: A, ` +
			`metadata: {name: a}}}]`,
			`children[0].forEach[x]: the value must be a list or a map, not int`},
		"a field of a label": {`children: [{object: {apiVersion: v1, kind: A, metadata: {name: a, labels: {a.b/c: ` +
			`"${parent.gone}"}}}}]`,
			`children[0].object.metadata.labels[a.b/c]: no such key: gone (at 1:7 of the expression)`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer, err := compiled(t, test.hook, Form{}).Evaluate(t.Context(), []byte(request), nil, limit, nil)
			if err == nil || err.Error() != test.want {
				t.Errorf("the error is\n%v\nwant\n%s\nanswer %s", err, test.want, answer)
			}
		})
	}
}

// An expression within a forEach that does not depend on its names is evaluated once: all times together would cost too
// much.
func TestExpressionsAreNotRepeated(t *testing.T) {
	template := compiled(t, `children: [{forEach: {i: lists.range(100)}, when: "lists.range(1500).all(a, lists.range(20)`+
		`.all(b, a + b >= 0))", object: {apiVersion: v1, kind: A, metadata: {name: "${i}"}}}]`, Form{})
	if _, err := template.Evaluate(t.Context(), []byte(request), nil, limit, nil); err != nil {
		t.Error(err)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("${variables.v}", `{}`)
	f.Add("${json.marshal(dyn(variables).v)}", `{}`)
	f.Add("a-${parent.metadata.name}", `{"parent": {"metadata": {"name": "x"}}}`)
	f.Add("${parent.spec.map(k, k + k).join(',')}", `{"parent": {"spec": {"b": 1, "a": 2}}}`)
	f.Add("${json.marshal(parent)}$${", `{"parent": [1, {"a": null}]}`)
	f.Add("${[1,2].transformMap(i, v, v)}", `{}`)
	f.Fuzz(func(t *testing.T, text, request string) {
		raw, _ := json.Marshal(map[string]any{"x": text})
		hook := &v1alpha1.InlineHook{
			Variables: []v1alpha1.InlineVariable{{Name: "v", Expression: text}}, Status: &v1alpha1.JSONValue{Raw: raw},
		}
		template, errs := Compile(hook, Form{}, field.NewPath("inline"))
		if len(errs) > 0 {
			return
		}
		const limit = 10_000
		first, err := template.Evaluate(t.Context(), []byte(request), nil, limit, nil)
		second, again := template.Evaluate(t.Context(), []byte(request), nil, limit, nil)
		if string(first) != string(second) || (err == nil) != (again == nil) {
			t.Errorf("%s (%v), then %s (%v)", first, err, second, again)
		}
		if err == nil && (!json.Valid(first) || len(first) > limit+100) {
			t.Errorf("%d bytes: %s", len(first), first)
		}
	})
}
