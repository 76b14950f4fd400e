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
	filled, err := json.Marshal(redact.Unblank(before, present))
	if err != nil {
		return kept
	}
	return filled
}
