// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bytes"
	"encoding/json"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// unblanked returns a request that was kept of an earlier call, with the values that were blanked in it as they are in
// the request of now, which the hook would be sent anyway. Without them, a hook that answers a value which it was sent
// would seem to change a Secret to blanks. Blanks for which there is nothing now remain.
func unblanked(kept, now []byte) []byte {
	if !bytes.Contains(kept, []byte(hookaddress.Blank)) {
		return kept
	}
	var before, present any
	if utiljson.Unmarshal(kept, &before) != nil || utiljson.Unmarshal(now, &present) != nil {
		return kept
	}
	filled, err := json.Marshal(unblank(before, present))
	if err != nil {
		return kept
	}
	return filled
}

// unblank changes a decoded value, and returns it.
func unblank(kept, now any) any {
	switch kept := kept.(type) {
	case map[string]any:
		present, _ := now.(map[string]any)
		for name, value := range kept {
			kept[name] = unblank(value, present[name])
		}
	case []any:
		present, _ := now.([]any)
		for i := range min(len(kept), len(present)) {
			kept[i] = unblank(kept[i], present[i])
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
	parts := strings.Split(kept, hookaddress.Blank)
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
