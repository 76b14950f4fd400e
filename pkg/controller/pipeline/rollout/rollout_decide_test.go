// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The rows of "Decide claims", a to d.
func TestDecide(t *testing.T) {
	for name, test := range map[string]situation{
		"a new parent: its children belong to the latest revision, which is made": {
			version: "v1", lists: "Pod a, Pod b",
			condition:  "True OnLatestRevision: latest ControllerRevision: " + nameOfV("v1"),
			wants:      "Pod a v1, Pod b v1",
			remembered: "v1: Pod a, Pod b",
		},
		"nothing new: nothing is done": {
			version: "v1", lists: "Pod a, Pod b", has: "Pod a v1, Pod b v1", remembers: "v1: Pod a, Pod b",
			condition:  "True OnLatestRevision: latest ControllerRevision: " + nameOfV("v1"),
			wants:      "Pod a v1, Pod b v1",
			remembered: "v1: Pod a, Pod b",
		},
		"a new version: the first child in the order of the answer moves": {
			version: "v2", lists: "Pod b, Pod a, Pod c", has: "Pod a v1, Pod b v1, Pod c v1", remembers: "v1: Pod a, Pod b, Pod c",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod b v2, Pod a v1, Pod c v1",
			remembered: "v1: Pod a, Pod c; v2: Pod b",
		},
		"the moved child is not updated yet": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v1, Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  "False RolloutWaiting: child Pod a is not updated yet",
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"the moved child is being deleted to come back": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v1 deleting, Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  "False RolloutWaiting: child Pod a is not updated yet",
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"the moved child is gone and not back yet": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  "False RolloutWaiting: missing child Pod a",
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"the moved child does not have the condition": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v2 silent, Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  `False RolloutWaiting: child Pod a failed status check: required condition type missing: "Ready"`,
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"the moved child's condition has another status": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v2 unready, Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  `False RolloutWaiting: child Pod a failed status check: "Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"the moved child's controller has not seen its spec": {
			kinds:   []Kind{inPlace(pods)},
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v2 lagging, Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  "False RolloutWaiting: child Pod a with RollingInPlace update strategy hasn't observed latest spec",
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"what its controller has seen does not matter of a child that is made anew": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v2 lagging, Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod a v2, Pod b v2",
			remembered: "v1:; v2: Pod a, Pod b",
		},
		"the moved child is healthy but somebody deletes it": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v2 deleting, Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  "False RolloutWaiting: child Pod a is being deleted",
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"the moved child is healthy: the next one moves": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2, Pod b v1, Pod c v1", remembers: "v1: Pod b, Pod c; v2: Pod a",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod a v2, Pod b v2, Pod c v1",
			remembered: "v1: Pod c; v2: Pod a, Pod b",
		},
		"the last one moves: the older revision stays until it is healthy": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v2, Pod b v1", remembers: "v1: Pod b; v2: Pod a",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod a v2, Pod b v2",
			remembered: "v1:; v2: Pod a, Pod b",
		},
		"all have moved, and none was moving: whether they are healthy does not matter": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v2, Pod b v2 unready", remembers: "v2: Pod a, Pod b",
			condition:  "True OnLatestRevision: latest ControllerRevision: " + nameOfV("v2"),
			wants:      "Pod a v2, Pod b v2",
			remembered: "v2: Pod a, Pod b",
		},
		"children that are as the latest revision wants them move at once, any number": {
			version: "v2", lists: "Pod a, Pod b, Pod c, Pod d", has: "Pod a v1, Pod b v2, Pod c v2, Pod d v1", remembers: "v1: Pod a, Pod b, Pod c, Pod d",
			condition:  "False RolloutProgressing: updating Pod a",
			wants:      "Pod a v2, Pod b v2, Pod c v2, Pod d v1",
			remembered: "v1: Pod d; v2: Pod a, Pod b, Pod c",
		},
		"the revisions are lost: children that differ from the latest revision move one by one": {
			version: "v2", lists: "Pod a, Pod b, Pod c, Pod d", has: "Pod a v2, Pod b v1, Pod c v0",
			condition:  "False RolloutWaiting: missing child Pod d",
			wants:      "Pod a v2, Pod default/b v1, Pod default/c v0, Pod d v2",
			remembered: "v2: Pod a, Pod d",
		},
		"the revisions are lost, and the children are healthy: the first one moves": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2, Pod b v1, Pod c v1", remembers: "v2: Pod a",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod a v2, Pod b v2, Pod default/c v1",
			remembered: "v2: Pod a, Pod b",
		},
		"the revisions are lost, and the child that has moved is not healthy": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2 unready, Pod b v1, Pod c v1",
			condition: "False RolloutWaiting: child Pod a failed status check: " +
				`"Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v2, Pod default/b v1, Pod default/c v1",
			remembered: "v2: Pod a",
		},
		"the earlier revision is back: the children that have not moved are at it": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2 unready, Pod b v0, Pod c v1",
			remembers: "v1: Pod a, Pod b, Pod c; v2: Pod a",
			condition: "False RolloutWaiting: child Pod a failed status check: " +
				`"Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v2, Pod b v1, Pod c v1",
			remembered: "v1: Pod b, Pod c; v2: Pod a",
		},
		"restored children become the parent's after the latest revision has named them: they do not move at once": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2 unready orphaned, Pod b v1 orphaned, Pod c v1 orphaned",
			remembers: "v2: Pod a, Pod b, Pod c",
			condition: "False RolloutWaiting: child Pod a failed status check: " +
				`"Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v2, Pod default/b v1, Pod default/c v1",
			remembered: "v2: Pod a",
		},
		"restored children that an earlier revision names, too, are at it": {
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2 unready orphaned, Pod b v0 orphaned, Pod c v1",
			remembers: "v1: Pod b, Pod c; v2: Pod a, Pod b",
			condition: "False RolloutWaiting: child Pod a failed status check: " +
				`"Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v2, Pod b v1, Pod c v1",
			remembered: "v1: Pod b, Pod c; v2: Pod a",
		},
		"a kind that does not roll is as the latest revision wants it": {
			version: "v2", lists: "ConfigMap a, Pod a, Pod b, ConfigMap b", has: "Pod a v1, Pod b v1, ConfigMap a v1", remembers: "v1: Pod a, Pod b",
			condition:  "False RolloutProgressing: updating Pod a",
			wants:      "ConfigMap a v2, Pod a v2, Pod b v1, ConfigMap b v2",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"claims on a kind that no longer rolls are dropped": {
			version: "v2", lists: "Job a, Pod a, Pod b", has: "Job a v1, Pod a v1, Pod b v1", remembers: "v1: Job a, Pod a, Pod b",
			condition:  "False RolloutProgressing: updating Pod a",
			wants:      "Job a v2, Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"claims on children that the latest revision does not want are dropped": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v2, Pod b v1, Pod c v1", remembers: "v1: Pod b, Pod c; v2: Pod a",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod a v2, Pod b v2",
			remembered: "v1:; v2: Pod a, Pod b",
		},
		"of two claims on a child the latest revision's counts": {
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v2 unready, Pod b v1", remembers: "v1: Pod a, Pod b; v2: Pod a",
			condition:  `False RolloutWaiting: child Pod a failed status check: "Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"of two claims of older revisions the newer one's counts": {
			version: "v3", lists: "Pod a, Pod b", has: "Pod a v3 unready, Pod b v2", remembers: "v1: Pod b; v2: Pod b; v3: Pod a",
			condition:  `False RolloutWaiting: child Pod a failed status check: "Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v3, Pod b v2",
			remembered: "v2: Pod b; v3: Pod a",
		},
		"two rolling kinds share the order and the pace": {
			kinds:   []Kind{recreated(pods), inPlace(jobs)},
			version: "v2", lists: "Pod a, Job a, Pod b, Job b", has: "Pod a v2, Job a v1, Pod b v1, Job b v1", remembers: "v1: Job a, Pod b, Job b; v2: Pod a",
			condition:  "False RolloutProgressing: updating Job a",
			wants:      "Pod a v2, Job a v2, Pod b v1, Job b v1",
			remembered: "v1: Job b, Pod b; v2: Job a, Pod a",
		},
		"one of two rolling kinds waits for the other": {
			kinds:   []Kind{recreated(pods), inPlace(jobs)},
			version: "v2", lists: "Pod a, Job a, Pod b", has: "Pod a v2, Job a v2 unready, Pod b v1", remembers: "v1: Pod b; v2: Pod a, Job a",
			condition:  `False RolloutWaiting: child Job a failed status check: "Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v2, Job a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Job a, Pod a",
		},
		"a hook that wants nothing": {
			version: "v2", has: "Pod a v1", remembers: "v1: Pod a",
			condition:  "True OnLatestRevision: latest ControllerRevision: " + nameOfV("v2"),
			remembered: "v2:",
		},
	} {
		t.Run(name, test.check)
	}
}

// When a namespace is deleted, the revisions may go before the parents in it are finalized.
func TestAParentThatIsBeingDeletedDoesNotNeedItsRevisions(t *testing.T) {
	w := newWorld(t, "v2", "Pod a", "Pod b", "Pod c")
	w.has("Pod a v2 unready", "Pod b v1", "Pod c v1")
	w.snapshot.Parent.DeletionTimestamp = &metav1.Time{Time: noon}
	if got := wanted(w.decide().Response); !slices.Equal(got, []string{"Pod a v2", "Pod b v2", "Pod c v2"}) {
		t.Errorf("wanted are %q", got)
	}
}
