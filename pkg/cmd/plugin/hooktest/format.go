// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// first are the fields that come first in an object, in the order in which people write them. The others follow by name.
var first = []string{
	"exact", "result", "error", "refused", "apiVersion", "kind", "name", "namespace", "labels", "annotations", "metadata", "spec", "step", "why", "type", "reason", "from", "to",
	"controller", "parent", "deleted", "status",
}

// last are those that come last.
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

// place returns where a field belongs among the others.
func place(name string) int {
	if at := slices.Index(first, name); at >= 0 {
		return at
	}
	return len(first) + 1 + slices.Index(last, name)
}
