// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"
)

func TestQ33TheShortestResyncPeriodIsASecond(t *testing.T) {
	for want, seconds := range map[time.Duration]*int32{
		time.Second:    ptr.To[int32](0),
		24 * time.Hour: ptr.To[int32](86400),
		0:              nil,
	} {
		var spec Spec
		spec.ResolveResync(seconds)
		if spec.Resync != want {
			t.Errorf("%v seconds give a period of %s, want %s", seconds, spec.Resync, want)
		}
	}
}
