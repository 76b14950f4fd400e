// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import "fmt"

// merge applies a change of mind to what is there: what was last applied and is no
// longer desired is taken away, what is desired is put in, and all else, which
// others have written, stays. It may change observed and returns the result.
//
// A desired null removes: of an object or a list with merge keys what was last
// applied, of anything else the value itself.
func merge(observed, lastApplied, desired any) any {
	switch observed := observed.(type) {
	case map[string]any:
		if wanted, ok := objectOrNull(desired); ok {
			last, _ := lastApplied.(map[string]any)
			return mergeObjects(observed, last, wanted)
		}
	case []any:
		if wanted, ok := listOrNull(desired); ok {
			last, _ := lastApplied.([]any)
			return mergeLists(observed, last, wanted)
		}
	}
	return desired
}

func mergeObjects(observed, lastApplied, desired map[string]any) map[string]any {
	for name := range lastApplied {
		if _, still := desired[name]; !still {
			delete(observed, name)
		}
	}
	for name, wanted := range desired {
		merged := merge(observed[name], lastApplied[name], wanted)
		if merged == nil {
			delete(observed, name)
			continue
		}
		observed[name] = merged
	}
	return observed
}

// mergeLists merges lists of objects that have a merge key like objects, keyed by
// it. Any other list is replaced as a whole.
func mergeLists(observed, lastApplied, desired []any) any {
	key := mergeKey(observed, lastApplied, desired)
	switch {
	case key == "" && desired == nil && len(observed) == 0:
		return observed // there is nothing in it to remove
	case key == "" && desired == nil:
		return nil
	case key == "":
		return desired
	}
	merged := mergeObjects(keyed(key, observed), keyed(key, lastApplied), keyed(key, desired))
	result := make([]any, 0, len(merged))
	for _, list := range [][]any{observed, desired} {
		for _, item := range list {
			name := keyValue(key, item)
			if value, left := merged[name]; left {
				result = append(result, value)
				delete(merged, name)
			}
		}
	}
	return result
}

// mergeKeys are the names that identify the items of a list, the first that fits
// counting. Metacontroller has always guessed so.
var mergeKeys = [...]string{"containerPort", "port", "mountPath", "name", "uid", "ip", "path"}

// mergeKey returns the merge key that all items of the lists have, no two items of
// a list with the same value. It is empty if there is none or not a single item.
func mergeKey(lists ...[]any) string {
	for _, key := range mergeKeys {
		if identifies(key, lists) {
			return key
		}
	}
	return ""
}

func identifies(key string, lists [][]any) bool {
	items := 0
	for _, list := range lists {
		seen := make(map[string]struct{}, len(list))
		for _, item := range list {
			object, ok := item.(map[string]any)
			if !ok || object[key] == nil {
				return false
			}
			value := keyValue(key, item)
			if _, twice := seen[value]; twice {
				return false
			}
			seen[value] = struct{}{}
			items++
		}
	}
	return items > 0
}

func keyed(key string, list []any) map[string]any {
	result := make(map[string]any, len(list))
	for _, item := range list {
		result[keyValue(key, item)] = item
	}
	return result
}

func keyValue(key string, item any) string {
	object, _ := item.(map[string]any)
	return fmt.Sprint(object[key])
}

func objectOrNull(value any) (map[string]any, bool) {
	object, ok := value.(map[string]any)
	return object, ok || value == nil
}

func listOrNull(value any) ([]any, bool) {
	list, ok := value.([]any)
	return list, ok || value == nil
}
