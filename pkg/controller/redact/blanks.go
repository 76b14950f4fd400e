// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// UnblankJSON is Unblank for JSON. It returns the kept value as it is if it has no blanks, or if one of the values
// cannot be read.
func UnblankJSON(kept, now []byte) []byte {
	if !bytes.Contains(kept, []byte(blank)) {
		return kept
	}
	var before, present any
	if utiljson.Unmarshal(kept, &before) != nil || utiljson.Unmarshal(now, &present) != nil {
		return kept
	}
	filled, err := json.Marshal(Unblank(before, present))
	if err != nil {
		return kept
	}
	return filled
}

// Unblank replaces the blanks in a kept, decoded value with the texts of the current value in the same places, and
// returns it. It changes the kept value. A blank stays if the texts around it differ, or if the current value has no
// such part.
func Unblank(kept, now any) any {
	switch kept := kept.(type) {
	case map[string]any:
		present, _ := now.(map[string]any)
		for name, value := range kept {
			kept[name] = Unblank(value, present[name])
		}
	case []any:
		present, _ := now.([]any)
		for i := range min(len(kept), len(present)) {
			kept[i] = Unblank(kept[i], present[i])
		}
	case string:
		if present, ok := now.(string); ok && isBlankedFrom(kept, present) {
			return present
		}
	}
	return kept
}

// isBlankedFrom reports whether a text has blanks, and is as another one between them.
func isBlankedFrom(kept, now string) bool {
	parts := strings.Split(kept, blank)
	last := len(parts) - 1
	if last == 0 || !strings.HasPrefix(now, parts[0]) {
		return false
	}
	now = now[len(parts[0]):]
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(now, part)
		if !found {
			return false
		}
		now = after
	}
	return strings.HasSuffix(now, parts[last])
}
