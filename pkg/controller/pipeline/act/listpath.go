// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

var (
	// keyedItem is how server-side apply names an item of a list by its keys.
	keyedItem = regexp.MustCompile(`^\[\w+=(?:"(?:[^"\\]|\\.)*"|[^\],"]+)(?:,\w+=(?:"(?:[^"\\]|\\.)*"|[^\],"]+))*\]`)
	itemKey   = regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*"|[^\],"]+)`)
)

// withIndexes returns a path of server-side apply with the items of lists named by their index in the
// body, as the warnings about unknown fields name them. It is the same path if the body has no such item.
func withIndexes(path string, body []byte) string {
	var at any
	if utiljson.Unmarshal(body, &at) != nil {
		return path
	}
	var indexed strings.Builder
	for rest := path; rest != ""; {
		keys := keyedItem.FindString(rest)
		if keys == "" {
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			object, _ := at.(map[string]any)
			at = object[strings.TrimPrefix(rest[:end], ".")]
			indexed.WriteString(rest[:end])
			rest = rest[end:]
			continue
		}
		items, _ := at.([]any)
		i := indexOf(items, keys)
		if i < 0 {
			return path
		}
		at = items[i]
		fmt.Fprintf(&indexed, "[%d]", i)
		rest = rest[len(keys):]
	}
	return indexed.String()
}

// indexOf returns the index of the item with these keys, -1 if there is none. The item may leave out keys
// that have defaults.
func indexOf(items []any, keys string) int {
	if i := slices.IndexFunc(items, func(item any) bool { return hasKeys(item, keys, false) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(items, func(item any) bool { return hasKeys(item, keys, true) })
}

func hasKeys(item any, keys string, mayLack bool) bool {
	members, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for _, key := range itemKey.FindAllStringSubmatch(keys, -1) {
		value, found := members[key[1]]
		if !found && mayLack {
			continue
		}
		if text, err := utiljson.Marshal(value); err != nil || string(text) != key[2] {
			return false
		}
	}
	return true
}
