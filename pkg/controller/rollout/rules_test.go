// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

func TestActive(t *testing.T) {
	tests := map[string]struct {
		kinds   []Kind
		managed bool
		want    bool
	}{
		"a kind rolls":  {[]Kind{recreated(pods)}, true, true},
		"no kind rolls": {nil, true, false},
		"the parent's children are left to the host": {[]Kind{recreated(pods)}, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rules := Rules{Kinds: test.kinds}
			if got := rules.Active(&stage.Snapshot{Managed: test.managed}); got != test.want {
				t.Errorf("active: %v", got)
			}
		})
	}
}
