// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
				`inline.children[0].object.metadata.name: Invalid value: "${": has ${ without a matching }; write $${ for ` +
					`a literal ${`,
			},
		},
		"a pattern that is slow to compile": {
			hook: `status: {a: "${'a'.matches('(?i)[B-\\U0001e942]')}", b: "${'a'.find('` + strings.Repeat("a", 1001) +
				`') == ''}", c: "${'a'.matches('((a{100}){100}')}", d: "${'a'.matches('((a{10}){100}){10}')}"}`,
			want: []string{
				`inline.status.a: Invalid value: "'a'.matches('(?i)[B-\\U0001e942]')": at 1:13: costs too much: a regular expression with the flag i may contain only ranges of ASCII characters`,
				`inline.status.b: Invalid value: "'a'.find('` + strings.Repeat("a", 150),
				`inline.status.c: Invalid value: "'a'.matches('((a{100}){100}')": at 1:13: invalid matches argument`,
				`inline.status.d: Invalid value: "'a'.matches('((a{10}){100}){10}')": at 1:13: invalid matches argument`,
			},
		},
		"a shell variable that is the whole text": {
			hook: `{status: {script: "${HOME}"}, events: "${EVENTS}"}`,
			want: []string{
				`inline.status.script: Invalid value: "HOME": at 1:1: undeclared reference to 'HOME'; the known names are variables, ` +
					`controller, parent, children, related, finalizing; if this is not an expression, write $${HOME}`,
				`inline.events: Invalid value: "EVENTS": at 1:1: undeclared reference to 'EVENTS'; the known names are variables, ` +
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
				`inline.status.script: Invalid value: "HOME": at 1:1: undeclared reference to 'HOME'; the known names are variables, ` +
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
		"related objects in a customize hook": {
			hook: `relatedResources: "${related}"`, form: Form{Customizes: true},
			want: []string{`inline.relatedResources: Invalid value: "related": at 1:1: undeclared reference to 'related'`},
		},
		"a variable that is defined later": {
			hook: `{variables: [{name: a, expression: variables.b}, {name: b, expression: "1"}]}`,
			want: []string{`inline.variables[0].expression: Invalid value: "variables.b": at 1:10: no variable b is defined ` +
				`before this`},
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
				`inline.status[a${1}]: Invalid value: "a${1}": names of fields cannot contain expressions`,
				`inline.children[0].forEach[1a]: Invalid value: "1a": must be a letter`,
				`inline.children[0].forEach[parent]: Invalid value: "parent": choose another name: expressions already have ` +
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

func TestErrorsAreLimited(t *testing.T) {
	hook := hookOf(t, `status: {a: [`+strings.Repeat(`"${+ + + + +}", `, maxExpressions)+`]}`)
	if _, errs := Compile(hook, Form{}, field.NewPath("inline")); len(errs) != maxErrors {
		t.Errorf("%d errors", len(errs))
	}
}
