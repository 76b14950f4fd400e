// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

func TestWhoNeedsToSeeAllParents(t *testing.T) {
	labelled, unlabelled := Rule{Labels: labels.SelectorFromSet(labels.Set{"a": "1"})}, Rule{Labels: labels.Everything()}
	for name, test := range map[string]struct {
		rules     []Rule
		finalizes bool
		want      bool
	}{
		"it selects by labels":               {[]Rule{labelled}, false, false},
		"each of its rules does":             {[]Rule{labelled, labelled}, false, false},
		"one of its rules does not":          {[]Rule{labelled, unlabelled}, false, true},
		"it selects by labels and finalizes": {[]Rule{labelled}, true, true},
		"it selects everything":              {[]Rule{unlabelled}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NeedsAllObjects(test.rules, test.finalizes); got != test.want {
				t.Errorf("it needs to see all parents: %v", got)
			}
		})
	}
}
