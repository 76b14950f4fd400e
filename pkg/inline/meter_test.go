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
)

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
		"the hashes of a text":  doubled("'0123456789'", "x + x", 14, "lists.range(3000).all(i, hash.sha256(x) != '')"),
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
				"20000 objects") && !strings.Contains(err.Error(), "a precision may have at most two digits") {
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
