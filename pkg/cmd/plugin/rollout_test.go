// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// A revision that was restored may name children that have moved since.
func TestEachChildCountsOnce(t *testing.T) {
	type all = []v1alpha1.ControllerRevision
	naming := func(isCurrent bool, names ...string) (of v1alpha1.ControllerRevision) {
		if isCurrent {
			of.Annotations = map[string]string{v1alpha1.CurrentRevisionAnnotation: "true"}
		}
		of.Children = []v1alpha1.ControllerRevisionChildren{{Kind: "Pod", Names: names}}
		return of
	}
	for name, test := range map[string]struct {
		revisions  all
		moved, all int
	}{
		"none":                            {},
		"one":                             {all{naming(true, "a", "b")}, 2, 2},
		"two":                             {all{naming(true, "a"), naming(false, "b", "c")}, 1, 3},
		"two that name the same":          {all{naming(true, "a", "b", "c"), naming(false, "b", "c")}, 3, 3},
		"three, and none of them current": {all{naming(false, "a"), naming(false, "a", "b"), naming(false)}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if moved, all := countChildren(test.revisions); moved != test.moved || all != test.all {
				t.Errorf("%d of %d children have moved, want %d of %d", moved, all, test.moved, test.all)
			}
		})
	}
}
