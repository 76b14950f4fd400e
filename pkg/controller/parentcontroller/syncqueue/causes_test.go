// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import "testing"

func TestEachCauseHasATextAndATrigger(t *testing.T) {
	texts := map[string]Cause{}
	for cause := range causes {
		if cause.String() == "" || cause.Trigger() == "" {
			t.Errorf("cause %d has the text %q and the trigger %q", cause, cause, cause.Trigger())
		}
		if same, known := texts[cause.String()]; known {
			t.Errorf("causes %d and %d have the same text", cause, same)
		}
		texts[cause.String()] = cause
	}
}
