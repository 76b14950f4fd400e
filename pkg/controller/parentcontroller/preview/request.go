// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bytes"
	"encoding/json"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// unblanked returns the kept request of an earlier call, with its blanks replaced by the values in the current request,
// which the hook would get anyway. Without them, a hook that returns a value from its request would seem to change a
// Secret to blanks. Blanks without a value in the current request remain.
func unblanked(kept, now []byte) []byte {
	if !bytes.Contains(kept, []byte(hookaddress.Blank)) {
		return kept
	}
	var before, present any
	if utiljson.Unmarshal(kept, &before) != nil || utiljson.Unmarshal(now, &present) != nil {
		return kept
	}
	filled, err := json.Marshal(redact.Unblank(before, present))
	if err != nil {
		return kept
	}
	return filled
}
