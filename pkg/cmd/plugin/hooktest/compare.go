// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
)

// errNothingExpected is the error of a case without expectations.
var errNothingExpected = errors.New("the case has no field expect: add it, or use --update")

// compare returns a diff of the expected and the actual result; empty if they are equal.
func compare(expected *Expected, came *Outcome) (string, error) {
	if expected == nil {
		return "", errNothingExpected
	}
	want, err := fieldsOf(expected)
	if err != nil {
		return "", err
	}
	got := came.inTheFormOf(want, formOf(expected))
	if reflect.DeepEqual(want, got) {
		return "", nil
	}
	wanted, err := formatted(want)
	if err != nil {
		return "", err
	}
	have, err := formatted(got)
	if err != nil {
		return "", err
	}
	return printing.Difference(string(wanted), string(have)), nil
}

// fieldsOf returns the expected result as decoded JSON, without the field exact.
func fieldsOf(expected *Expected) (fields map[string]any, err error) {
	raw, err := json.Marshal(expected)
	if err != nil {
		return nil, err
	}
	err = utiljson.Unmarshal(raw, &fields)
	delete(fields, "exact")
	return fields, err
}

// form selects the fields of an outcome to compare or write.
type form int

const (
	// partial has only expected fields.
	partial form = iota
	// filling has expected fields, and all fields of objects without any.
	filling
	// whole has all fields.
	whole
)

func formOf(expected *Expected) form {
	if expected.Exact {
		return whole
	}
	return partial
}

// problems are the fields that are compared even if they are not expected.
var problems = []string{"error", "refused", "warnings"}

// inTheFormOf returns the part of the outcome to compare with the expected result: expected fields, and problems.
func (o *Outcome) inTheFormOf(want map[string]any, as form) map[string]any {
	got := map[string]any{}
	for name, wanted := range want {
		if value, there := o.fields[name]; there {
			got[name] = o.field(name, wanted, value, as)
		}
	}
	for _, name := range problems {
		if value, there := o.fields[name]; there && want[name] == nil {
			got[name] = value
		}
	}
	return got
}

func (o *Outcome) field(name string, wanted, value any, as form) any {
	switch name {
	case "error", "refused":
		return withParts(wanted, value)
	case "steps":
		return steps(wanted, value, as)
	case "children":
		return inOrderOf(wanted, value, as)
	}
	return project(wanted, value, as)
}

// withParts replaces texts by the expected parts that they contain.
func withParts(wanted, value any) any {
	switch value := value.(type) {
	case string:
		if part, ok := wanted.(string); ok && strings.Contains(value, part) {
			return part
		}
	case []any:
		parts, _ := wanted.([]any)
		var all []any
		for i, one := range value {
			if i < len(parts) {
				one = withParts(parts[i], one)
			}
			all = append(all, one)
		}
		return all
	}
	return value
}

// steps returns each step in the form of the equal expected step: as text or as an object.
func steps(wanted, value any, as form) any {
	left, _ := wanted.([]any)
	all := []any{}
	for _, one := range asList(value) {
		step, _ := one.(map[string]any)
		text, shown := step["step"], any(step["step"])
		for i, want := range left {
			fields, isObject := want.(map[string]any)
			if want == text || isObject && fields["step"] == text {
				if isObject {
					shown = project(want, step, as)
				}
				left = append(append([]any{}, left[:i]...), left[i+1:]...)
				break
			}
		}
		all = append(all, shown)
	}
	return all
}

// inOrderOf returns objects in the order of the expected ones, because the order in a response has no meaning.
func inOrderOf(wanted, value any, as form) any {
	left := asList(value)
	if left == nil {
		return value
	}
	all := []any{}
	for _, want := range asList(wanted) {
		for i, one := range left {
			if identityOf(one) == identityOf(want) {
				all = append(all, project(want, one, as))
				left = append(append([]any{}, left[:i]...), left[i+1:]...)
				break
			}
		}
	}
	return append(all, left...)
}

// identity is the name of an object in a response.
type identity struct{ apiVersion, kind, namespace, name any }

func identityOf(value any) identity {
	object, _ := value.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	return identity{object["apiVersion"], object["kind"], metadata["namespace"], metadata["name"]}
}

// project returns a value without the fields of objects that are not expected.
func project(wanted, value any, as form) any {
	if as == whole {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		fields, ok := wanted.(map[string]any)
		if !ok || as == filling && len(fields) == 0 {
			return value
		}
		kept := map[string]any{}
		for name, want := range fields {
			if below, there := value[name]; there {
				kept[name] = project(want, below, as)
			}
		}
		return kept
	case []any:
		items, _ := wanted.([]any)
		kept := make([]any, len(value))
		for i, item := range value {
			if i < len(items) {
				item = project(items[i], item, as)
			}
			kept[i] = item
		}
		return kept
	}
	return value
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

// first are the first fields of an object, in the order in which people write them. Other fields follow by name.
var first = []string{
	"exact", "result", "error", "refused", "apiVersion", "kind", "name", "namespace", "labels", "annotations", "metadata",
	"spec", "step", "why", "type", "reason", "from", "to",
	"controller", "parent", "deleted", "status",
}

// last are the last fields.
var last = []string{"steps", "changes", "object", "rollout", "events", "warnings", "expect"}

// formatted returns a decoded JSON value as YAML.
func formatted(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(nodeOf(value)); err != nil {
		return nil, err
	}
	return text.Bytes(), encoder.Close()
}

func nodeOf(value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.SortedFunc(maps.Keys(value), inOrder) {
			node.Content = append(node.Content, textNode(name), nodeOf(value[name]))
		}
		if len(value) == 0 {
			node.Style = yaml.FlowStyle
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range value {
			node.Content = append(node.Content, nodeOf(item))
		}
		if len(value) == 0 {
			node.Style = yaml.FlowStyle
		}
		return node
	}
	node := &yaml.Node{}
	_ = node.Encode(value) // a scalar can always be encoded
	return node
}

func textNode(text string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(text)
	return node
}

func inOrder(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) }

// place returns the rank of a field.
func place(name string) int {
	if at := slices.Index(first, name); at >= 0 {
		return at
	}
	return len(first) + 1 + slices.Index(last, name)
}
