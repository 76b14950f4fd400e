// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import "testing"

func TestInTheMiddleOfARollout(t *testing.T) {
	for name, test := range map[string]situation{
		"scaled up: the new child is of the latest revision, and waited for": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2, Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  "False RolloutWaiting: missing child Pod c",
			wants:      "Pod a v2, Pod b v1, Pod c v2",
			remembered: "v1: Pod b; v2: Pod a, Pod c",
		},
		"scaled down by a child that has moved": {
			version: "v2", lists: "Pod b, Pod c", has: "Pod a v2 unready, Pod b v1, Pod c v1", remembers: "v1: Pod b, Pod c; v2: Pod a",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod b v2, Pod c v1",
			remembered: "v1: Pod c; v2: Pod b",
		},
		"scaled down by all children that have not moved": {
			version: "v2", lists: "Pod a", has: "Pod a v2, Pod b v1, Pod c v1", remembers: "v1: Pod b, Pod c; v2: Pod a",
			condition:  "True OnLatestRevision: latest ControllerRevision: " + nameOfV("v2"),
			wants:      "Pod a v2",
			remembered: "v2: Pod a",
		},
		"a third version while all are healthy: it starts at the first child": {
			version: "v3", lists: "Pod a, Pod b, Pod c", has: "Pod a v2, Pod b v1, Pod c v1", remembers: "v1: Pod b, Pod c; v2: Pod a",
			condition:  "False RolloutProgressing: updating Pod a",
			wants:      "Pod a v3, Pod b v1, Pod c v1",
			remembered: "v1: Pod b, Pod c; v3: Pod a",
		},
		"a third version while the first child is in motion: that one takes it": {
			version: "v3", lists: "Pod a, Pod b, Pod c", has: "Pod a v2 unready, Pod b v1, Pod c v1", remembers: "v1: Pod b, Pod c; v2: Pod a",
			condition:  "False RolloutProgressing: updating Pod a",
			wants:      "Pod a v3, Pod b v1, Pod c v1",
			remembered: "v1: Pod b, Pod c; v3: Pod a",
		},
		"a third version while another child is in motion: that one takes it first, so that there are not two": {
			version: "v3", lists: "Pod a, Pod b, Pod c", has: "Pod a v2, Pod b v2 unready, Pod c v1", remembers: "v1: Pod c; v2: Pod a, Pod b",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod a v2, Pod b v3, Pod c v1",
			remembered: "v1: Pod c; v2: Pod a; v3: Pod b",
		},
		"rolled back while a child does not become healthy: it goes back first": {
			version: "v1", lists: "Pod a, Pod b, Pod c", has: "Pod a v2, Pod b v2 unready, Pod c v1", remembers: "v1: Pod c; v2: Pod a, Pod b",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod a v2, Pod b v1, Pod c v1",
			remembered: "v1: Pod b, Pod c; v2: Pod a",
		},
		"rolled back before the moved child was touched: it is there already": {
			version: "v1", lists: "Pod a, Pod b", has: "Pod a v1, Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  "True OnLatestRevision: latest ControllerRevision: " + nameOfV("v1"),
			wants:      "Pod a v1, Pod b v1",
			remembered: "v1: Pod a, Pod b",
		},
		"a child that has not moved is deleted by hand: it comes back at its own revision": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2 unready, Pod b v1", remembers: "v1: Pod b, Pod c; v2: Pod a",
			condition:  `False RolloutWaiting: child Pod a failed status check: "Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v2, Pod b v1, Pod c v1",
			remembered: "v1: Pod b, Pod c; v2: Pod a",
		},
		"a child that has moved is deleted by hand: it comes back at the latest revision": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod b v1, Pod c v1", remembers: "v1: Pod b, Pod c; v2: Pod a",
			condition:  "False RolloutWaiting: missing child Pod a",
			wants:      "Pod a v2, Pod b v1, Pod c v1",
			remembered: "v1: Pod b, Pod c; v2: Pod a",
		},
		"a child that has not moved is being deleted by hand: no other one becomes unavailable": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2, Pod b v1, Pod c v1 deleting", remembers: "v1: Pod b, Pod c; v2: Pod a",
			condition:  "False RolloutProgressing: updating Pod c",
			wants:      "Pod a v2, Pod b v1, Pod c v2",
			remembered: "v1: Pod b; v2: Pod a, Pod c",
		},
		"no child was healthy at the older revision: they move in order all the same": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2, Pod b v1 unready, Pod c v1 unready", remembers: "v1: Pod b, Pod c; v2: Pod a",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod a v2, Pod b v2, Pod c v1",
			remembered: "v1: Pod c; v2: Pod a, Pod b",
		},
	} {
		t.Run(name, test.check)
	}
}
