// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

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
			`status.x: the value of ${parent.spec.?gone} is an absent optional, which only a string that is one ` +
				`expression may have; add .orValue('')`},
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

func TestCompileErrors(t *testing.T) {
	tests := map[string]struct {
		hook string
		form Form
		want []string
	}{
		"all errors at once": {
			hook: `{variables: [{name: ready, expression: "1 +"}], status: {a: "${parnt.x}", b: "${variables.raedy}"}, ` +
				`children: [{object: {apiVersion: v1, metadata: {name: "${"}}}]}`,
			want: []string{
				`inline.variables[0].expression: Invalid value: "1 +": at 1:4: Syntax error: unexpected end of the ` +
					`expression`,
				`inline.status.a: Invalid value: "parnt.x": at 1:1: undeclared reference to 'parnt'; did you mean parent?`,
				`inline.status.b: Invalid value: "variables.raedy": at 1:10: no variable raedy is defined before this; did ` +
					`you mean ready?`,
				`inline.children[0].object.kind: Required value`,
				`inline.children[0].object.metadata.name: Invalid value: "${": has ${ without a matching }; write $${ if ${ ` +
					`is meant literally`,
			},
		},
		"a pattern that is slow to compile": {
			hook: `status: {a: "${'a'.matches('(?i)[B-\\U0001e942]')}", b: "${'a'.find('` + strings.Repeat("a", 1001) +
				`') == ''}", c: "${'a'.matches('((a{100}){100}')}", d: "${'a'.matches('((a{10}){100}){10}')}"}`,
			want: []string{
				`inline.status.a: Invalid value: "'a'.matches('(?i)[B-\\U0001e942]')": at 1:13: costs too much: a regular ` +
					`expression with the flag i may have ranges of ASCII only`,
				`inline.status.b: Invalid value: "'a'.find('` + strings.Repeat("a", 150),
				`inline.status.c: Invalid value: "'a'.matches('((a{100}){100}')": at 1:13: invalid matches argument`,
				`inline.status.d: Invalid value: "'a'.matches('((a{10}){100}){10}')": at 1:13: invalid matches argument`,
			},
		},
		"a shell variable that is the whole text": {
			hook: `{status: {script: "${HOME}"}, events: "${EVENTS}"}`,
			want: []string{
				`inline.status.script: Invalid value: "HOME": at 1:1: undeclared reference to 'HOME'; there are variables, ` +
					`controller, parent, children, related, finalizing; if this is not an expression, write $${HOME}`,
				`inline.events: Invalid value: "EVENTS": at 1:1: undeclared reference to 'EVENTS'; there are variables, ` +
					`controller, parent, children, related, finalizing; if this is not an expression, write $${EVENTS}`,
			},
		},
		"too many names": {
			hook: `children: [{forEach: {a: "[]", b: "[]", c: "[]", d: "[]", e: "[]", f: "[]", g: "[]", h: "[]", i: "[]"}, ` +
				`object: {apiVersion: v1, kind: A, metadata: {name: a}}}]`,
			want: []string{`inline.children[0].forEach: Too many: 9: must have at most 8 items`},
		},
		"two underscores": {
			hook: `{variables: [{name: a__dash__b, expression: "1"}]}`,
			want: []string{`inline.variables[0].name: Invalid value: "a__dash__b": must not have two underscores in a row`},
		},
		"a shell variable": {
			hook: `status: {script: "echo ${HOME} ${X:-y}"}`,
			want: []string{
				`inline.status.script: Invalid value: "HOME": at 1:1: undeclared reference to 'HOME'; there are variables, ` +
					`controller, parent, children, related, finalizing; if this is not an expression, write $${HOME}`,
				`inline.status.script: Invalid value: "X:-y": at 1:2: Syntax error`,
			},
		},
		"fields of other hooks": {
			hook: `{attachments: [], labels: {}, finalized: true, relatedResources: []}`,
			want: []string{
				`inline.labels: Forbidden: only the hooks of a DecoratorController return labels`,
				`inline.finalized: Forbidden: only the finalize hook returns finalized`,
				`inline.relatedResources: Forbidden: only the customize hook returns relatedResources`,
				`inline.attachments: Forbidden: only the hooks of a DecoratorController return attachments`,
			},
		},
		"children in a decorator": {
			hook: `children: []`, form: Form{Decorates: true},
			want: []string{`inline.children: Forbidden: the children of a DecoratorController are its attachments`},
		},
		"a status in a customize hook": {
			hook: `status: {}`, form: Form{Customizes: true},
			want: []string{`inline.status: Forbidden: the customize hook returns only relatedResources`},
		},
		"a parent in a decorator": {
			hook: `status: {a: "${parent.spec}"}`, form: Form{Decorates: true},
			want: []string{`inline.status.a: Invalid value: "parent.spec": at 1:1: undeclared reference to 'parent'; ` +
				`did you mean object?`},
		},
		"attachments in a composite": {
			hook: `status: {a: "${attachments.size()}"}`,
			want: []string{`inline.status.a: Invalid value: "attachments.size()": at 1:1: undeclared reference to ` +
				`'attachments'; did you mean children?`},
		},
		"JSON of another kind": {
			hook: `{status: [], resyncAfterSeconds: soon, events: {}}`,
			want: []string{
				`inline.status: Invalid value: "list": must be a JSON object, or one expression`,
				`inline.resyncAfterSeconds: Invalid value: "string": must be a JSON number, or one expression`,
				`inline.events: Invalid value: "object": must be a JSON list, or one expression`,
			},
		},
		"types": {
			hook: `{status: {a: "x${[1]}"}, children: [{when: size('a'), forEach: {num: "1"}, object: {apiVersion: v1, ` +
				`kind: A, metadata: {name: a}}}]}`,
			want: []string{
				`inline.status.a: Invalid value: "[1]": the value must be text or a number, not list(int)`,
				`inline.children[0].forEach[num]: Invalid value: "1": the value must be a list, such as ` +
					`lists.range(x), or a ` +
					`map, not int`,
				`inline.children[0].when: Invalid value: "size('a')": the value must be true or false, not int`,
			},
		},
		"types of the fields of the answer": {
			hook: `{status: "${[1]}", events: "${{}}", resyncAfterSeconds: "${'1s'}", finalized: "${1}"}`,
			form: Form{Finalizes: true},
			want: []string{
				`inline.status: Invalid value: "[1]": the value must be a map, not list(int)`,
				`inline.resyncAfterSeconds: Invalid value: "'1s'": the value must be a number, not string`,
				`inline.events: Invalid value: "{}": the value must be a list, not map`,
				`inline.finalized: Invalid value: "1": the value must be true or false, not int`,
			},
		},
		"types of the fields of the answer that are known later": {
			hook: `{status: "${parent.status}", events: "${optional.none()}", resyncAfterSeconds: ` +
				`"${parent.spec.?resync}"}`,
		},
		"operands": {
			hook: `status: {a: "${'a' + 1}", b: "${size(1)}", c: "${true ? 1 : 'a'}", d: "${[1, 'a']}", e: ` +
				`"${true && 1}"}`,
			want: []string{
				`inline.status.a: Invalid value: "'a' + 1": at 1:5: + does not take (string, int); string(x), ` +
					`int(x) and ` +
					`double(x) convert`,
				`inline.status.b: Invalid value: "size(1)": at 1:5: size does not take (int)`,
				`inline.status.c: Invalid value: "true ? 1 : 'a'": at 1:6: a ? b : c does not take (bool, int, ` +
					`string); ` +
					`dyn(b) and dyn(c) may have different types`,
				`inline.status.e: Invalid value: "true && 1": at 1:9: expected type 'bool' but found 'int'`,
			},
		},
		"unknown functions": {
			hook: `status: {a: "${siz(parent)}", b: "${now()}", c: "${parent.name.upper()}"}`,
			want: []string{
				`inline.status.a: Invalid value: "siz(parent)": at 1:4: no function siz takes these arguments; did ` +
					`you ` +
					`mean size?`,
				`inline.status.b: Invalid value: "now()": at 1:4: no function now takes these arguments`,
				`inline.status.c: Invalid value: "parent.name.upper()": at 1:18: no function upper takes these ` +
					`arguments; did you mean upperAscii?`,
			},
		},
		"what does not parse": {
			hook: `status: {a: "${a and b}", b: "${parent['a'}"}`,
			want: []string{
				`inline.status.a: Invalid value: "a and b": at 1:3: Syntax error: unexpected 'and'`,
				`inline.status.b: Invalid value: "parent['a'": at 1:11: Syntax error: missing ']' at end of the ` +
					`expression`,
			},
		},
		"objects": {
			hook: `children: [{object: []}, {object: null}, {object: {}}, {}]`,
			want: []string{
				`inline.children[0].object: Invalid value: "list": must be an object, or one expression`,
				`inline.children[1].object: Invalid value: "null": must be an object, or one expression`,
				`inline.children[2].object.apiVersion: Required value`,
				`inline.children[2].object.kind: Required value`,
				`inline.children[2].object.metadata.name: Required value`,
				`inline.children[3].object: Required value`,
			},
		},
		"names": {
			hook: `{variables: [{name: a-b, expression: "1"}, {name: v, expression: "1"}, {name: v, expression: "1"}, ` +
				`{name: in, expression: "1"}],
				status: {"a${1}": 1}, children: [{forEach: {parent: "[1]", 1a: "[1]"}, object: {apiVersion: v1, kind: A, ` +
				`metadata: {name: a}}}]}`,
			want: []string{
				`inline.variables[0].name: Invalid value: "a-b": must be a letter or an underscore, then letters, digits ` +
					`and underscores`,
				`inline.variables[2].name: Duplicate value: "v"`,
				`inline.variables[3].name: Invalid value: "in": is a reserved word of CEL`,
				`inline.status[a${1}]: Invalid value: "a${1}": names of fields cannot have expressions`,
				`inline.children[0].forEach[1a]: Invalid value: "1a": must be a letter`,
				`inline.children[0].forEach[parent]: Invalid value: "parent": choose another name: expressions have ` +
					`variables, ` +
					`controller, parent, children, related, finalizing`,
			},
		},
		"a name of another object's loop": {
			hook: `children: [{forEach: {num: "[1]"}, object: {apiVersion: v1, kind: A, metadata: {name: a}}}, {object: ` +
				`{apiVersion: v1, kind: A, metadata: {name: "${num}"}}}]`,
			want: []string{`inline.children[1].object.metadata.name: Invalid value: "num": at 1:1: undeclared reference ` +
				`to 'num'`},
		},
		"a template that is too large": {
			hook: `status: {a: "` + strings.Repeat("x", maxTemplateBytes) + `"}`,
			want: []string{`inline: Too long: the template has 262163 bytes of JSON, but the maximum is 262144; use a webhook`},
		},
		"an expression that is too long": {
			hook: `status: {a: "${'` + strings.Repeat("x", maxExpressionBytes) + `'}"}`,
			want: []string{`inline.status.a: Invalid value: "'` + strings.Repeat("x", 190)},
		},
		"too many expressions": {
			hook: `status: {a: [` + strings.Repeat(`"${1}", `, maxExpressions+1) + `]}`,
			want: []string{`inline: Too many: 201: must have at most 200 items`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, errs := Compile(hookOf(t, test.hook), test.form, field.NewPath("inline"))
			for i, err := range errs {
				if i >= len(test.want) || !strings.HasPrefix(err.Error(), test.want[i]) {
					t.Errorf("error %d is\n%s", i, err)
				}
			}
			if len(errs) < len(test.want) {
				t.Errorf("%d errors: %v\nwant %d", len(errs), errs, len(test.want))
			}
		})
	}
}

// Hostile templates end with an error of their own. None takes much longer than one that counts to the limit and does
// nothing else; without the meter, they take minutes, or all memory.
func TestWhatCostsTooMuch(t *testing.T) {
	placeholder := regexp.MustCompile(`\bx\b`)
	doubled := func(first, next string, times int, last string) string {
		var variables []string
		for i := range times {
			expression := first
			if i > 0 {
				expression = placeholder.ReplaceAllString(next, fmt.Sprintf("variables.v%d", i-1))
			}
			variables = append(variables, fmt.Sprintf("{name: v%d, expression: %q}", i, expression))
		}
		return `{variables: [` + strings.Join(variables, ", ") + `], status: {s: "${` +
			placeholder.ReplaceAllString(last, fmt.Sprintf("variables.v%d", times-1)) + `}"}}`
	}
	const tens = `[0,1,2,3,4,5,6,7,8,9]`
	tests := map[string]string{
		"nested comprehensions": `status: {s: ` +
			`"${` + strings.Repeat(tens+".map(i, ", 9) + "i" + strings.Repeat(")", 9) + `}"}`,
		"a doubled string":                  doubled("'0123456789'", "x + x", 50, "size(x)"),
		"a doubled list":                    doubled("[1]", "x + x", 50, "x == x"),
		"a doubled list that is written":    doubled("[1]", "x + x", 50, "x"),
		"a list in itself":                  doubled("[1]", "[x, x]", 50, "x == x"),
		"a list in itself that is a key":    doubled("[1]", "[x, x]", 50, "json.marshal(x)"),
		"a list in itself that is searched": doubled("[1]", "[x, x]", 50, "x in [x]"),
		"a map in itself":                   doubled("{'a': 1}", "{'a': x, 'b': x}", 50, "x == x"),
		"a flattened list":                  doubled("[1]", "[x, x]", 50, "x.flatten(60)"),
		"a replaced string":                 doubled("'aaaaaaaaaa'", "x.replace('a', x)", 12, "size(x)"),
		"a joined list":                     doubled("'aaaaaaaaaa'", "lists.range(1000).map(i, x).join(x)", 5, "size(x)"),
		"a long range":                      `status: {s: "${lists.range(1000000000).size()}"}`,
		"a format": doubled("'aaaaaaaaaa'", "'%s%s%s%s%s%s%s%s%s%s'.format([x,x,x,x,x,x,x,x,x"+
			",x])", 12, "size(x)"),
		"a regular expression": doubled("'aaaaaaaaaa'", "x + "+
			"x", 18, "x.matches('(a|b|c|d|e)*(x*)*(y*)*z{100}')"),
		"many states":             doubled("'aaaaaaaaaa'", "x + x", 14, "x.matches('(a?){400}b')"),
		"a naive search":          doubled("'aaaaaaaaaa'", "x + x", 14, "x.indexOf(x + 'b')"),
		"an error that is caught": doubled("[1]", "[x, x]", 50, "[1].all(i, x == x || true)"),
		"wide numbers": `{variables: [{name: f, expression: "'%.65535e'"}], ` +
			`status: {s: "${variables.f.format([1.0])}"}}`,
		"many numbers": doubled("'%.99f'", "x + x", 18, "x.format(lists.range(262144))"),
		"many ranges without case": `{variables: [{name: v, expression: "'(?i)' + ` +
			`lists.range(700).map(i, '[B-\U0001e942]').join('')"}], ` +
			`status: {s: "${lists.range(4000).all(i, !'a'.matches(variables.v))}"}}`,
		"a range without case": `{variables: [{name: v, expression: "'(?i)[B-\U0001e942]'"}], ` +
			`status: {s: "${lists.range(10000).all(i, !'a'.matches(variables.v))}"}}`,
		"many classes": `{variables: [{name: v, expression: "'[' + lists.range(300).map(i, '\\\\pL').join('') + ']'"}], ` +
			`status: {s: "${lists.range(4000).all(i, 'a'.matches(variables.v))}"}}`,
		"many patterns":         `status: {s: "${lists.range(10000).all(i, 'a'.matches('[\\\\pL\\\\pN]|' + string(i)))}"}`,
		"comparisons with less": doubled("[1]", "x + x", 18, "lists.range(3000).all(i, x != [1])"),
		"the sizes of a text":   doubled("'0123456789'", "x + x", 18, "lists.range(3000).all(i, size(x) > 0)"),
		"maps of maps": `{variables: [{name: m, expression: "lists.range(3000).transformMapEntry(i, v, {string(i): v})"}], ` +
			`status: {s: "${lists.range(3000).map(i, {'a': 1}.transformMapEntry(k, v, variables.m))}"}}`,
		"split texts": `{variables: [{name: t, expression: "lists.range(20000).map(i, 'a').join(',')"}], ` +
			`status: {s: "${lists.range(100).map(i, variables.t.split(',')).size()}"}}`,
		"much YAML": `{variables: [{name: t, expression: "lists.range(5000).map(i, 'aaaaaaaaaa')"}], ` +
			`status: {s: "${lists.range(100).map(i, yaml.marshal(variables.t)).size()}"}}`,
		"many objects": `children: [{forEach: {a: lists.range(30000)}, object: {apiVersion: v1, ` +
			`kind: A, metadata: {name: a}}}]`,
		"nested loops": `children: [{forEach: {a: lists.range(1000), b: lists.range(1000)}, ` +
			`object: {apiVersion: v1, kind: A, metadata: {name: "a${a}"}}}]`,
	}
	template, began := compiled(t, tests["nested comprehensions"], Form{}), time.Now()
	if _, err := template.Evaluate(t.Context(), []byte(request), nil, limit, nil); !errors.Is(err, errCost) {
		t.Fatal(err)
	}
	most := 5*time.Second + 10*time.Since(began)
	for name, hook := range tests {
		t.Run(name, func(t *testing.T) {
			template, began := compiled(t, hook, Form{}), time.Now()
			answer, err := template.Evaluate(t.Context(), []byte(request), nil, limit, nil)
			if err == nil {
				t.Fatalf("no error, and %d bytes of answer", len(answer))
			}
			if !errors.Is(err, errCost) && !errors.Is(err, errTooLarge) && !strings.Contains(err.Error(), "more than "+
				"20000 objects") && !strings.Contains(err.Error(), "a precision may have two digits") {
				t.Error(err)
			}
			if took := time.Since(began); took > most {
				t.Errorf("it took %v, want at most %v: %v", took, most, err)
			}
		})
	}
}

func TestEvaluationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the server stops")
	cancel(stop)
	template := compiled(t, `status: {s: "${lists.range(100000).map(i, i * 2)}"}`, Form{})
	if _, err := template.Evaluate(ctx, []byte(request), nil, limit, nil); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func TestALongEvaluationPauses(t *testing.T) {
	stop := errors.New("the server stops")
	template := compiled(t, `children: [{forEach: {i: lists.range(100)}, when: "lists.range(1500).all(a, `+
		`lists.range(20).all(b, a + b + i >= 0)) && false", object: {apiVersion: v1, kind: A, metadata: {name: a}}}]`, Form{})
	_, err := template.Evaluate(t.Context(), []byte(request), nil, limit, func() error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("error %v", err)
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

// Ordinary templates about large objects do not cost too much.
func TestWhatDoesNotCostTooMuch(t *testing.T) {
	tests := map[string]string{
		"merged maps":     "lists.range(2000).transformMapEntry(i, v, {string(i): v}).merge({'a': 1}).size() == 2001",
		"distinct texts":  "lists.range(600).map(i, 'item-' + string(i)).distinct().size() == 600",
		"a set":           "sets.contains(lists.range(2000), [1, 2, 3])",
		"patterns":        "lists.range(2000).all(i, ('item-' + string(i)).matches('^item-[0-9]+$'))",
		"comparisons":     "lists.range(2000).all(i, 'item-' + string(i) != 'item')",
		"formatted texts": "lists.range(2000).map(i, '%s-%.2f'.format([i, 1.5])).size() == 2000",
	}
	for name, expression := range tests {
		t.Run(name, func(t *testing.T) {
			raw, _ := json.Marshal(map[string]any{"status": map[string]any{"x": "${" + expression + "}"}})
			answer, err := compiled(t, string(raw), Form{}).Evaluate(t.Context(), []byte(request), nil, limit, nil)
			if err != nil || string(answer) != `{"status":{"x":true}}` {
				t.Errorf("answer %s, error %v", answer, err)
			}
		})
	}
}

func TestErrorsAreLimited(t *testing.T) {
	hook := hookOf(t, `status: {a: [`+strings.Repeat(`"${+ + + + +}", `, maxExpressions)+`]}`)
	if _, errs := Compile(hook, Form{}, field.NewPath("inline")); len(errs) != maxErrors {
		t.Errorf("%d errors", len(errs))
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
