// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestMaxUnavailable(t *testing.T) {
	atMost := func(limit intstr.IntOrString, kind Kind) Kind {
		kind.MaxUnavailable = &limit
		return kind
	}
	for name, test := range map[string]situation{
		"two may be in motion: two move": {
			kinds:   []Kind{atMost(intstr.FromInt32(2), recreated(pods))},
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v1, Pod b v1, Pod c v1", remembers: "v1: Pod a, Pod b, Pod c",
			condition:  "False RolloutProgressing: updating Pod a, Pod b",
			wants:      "Pod a v2, Pod b v2, Pod c v1",
			remembered: "v1: Pod c; v2: Pod a, Pod b",
		},
		"one of two is healthy: one more moves": {
			kinds:   []Kind{atMost(intstr.FromInt32(2), recreated(pods))},
			version: "v2", lists: "Pod a, Pod b, Pod c, Pod d", has: "Pod a v2 unready, Pod b v2, Pod c v1, Pod d v1", remembers: "v1: Pod c, Pod d; v2: Pod a, Pod b",
			condition:  "False RolloutProgressing: updating Pod c",
			wants:      "Pod a v2, Pod b v2, Pod c v2, Pod d v1",
			remembered: "v1: Pod d; v2: Pod a, Pod b, Pod c",
		},
		"both are in motion: nothing moves": {
			kinds:   []Kind{atMost(intstr.FromInt32(2), recreated(pods))},
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v2 unready, Pod c v1", remembers: "v1: Pod c; v2: Pod a, Pod b",
			condition:  `False RolloutWaiting: child Pod a failed status check: "Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v2, Pod b v2, Pod c v1",
			remembered: "v1: Pod c; v2: Pod a, Pod b",
		},
		"a percentage is of the children of the kind, rounded up": {
			kinds:   []Kind{atMost(intstr.FromString("40%"), recreated(pods))},
			version: "v2", lists: "Pod a, Job x, Pod b, Pod c, Job y", has: "Pod a v1, Pod b v1, Pod c v1", remembers: "v1: Pod a, Pod b, Pod c",
			condition:  "False RolloutProgressing: updating Pod a, Pod b",
			wants:      "Pod a v2, Job x v2, Pod b v2, Pod c v1, Job y v2",
			remembered: "v1: Pod c; v2: Pod a, Pod b",
		},
		"of many that move some are named": {
			kinds:   []Kind{atMost(intstr.FromString("100%"), recreated(pods))},
			version: "v2", lists: "Pod a, Pod b, Pod c, Pod d, Pod e, Pod f, Pod g, Pod h, Pod i, Pod j, Pod k, Pod l",
			has:        "Pod a v1, Pod b v1, Pod c v1, Pod d v1, Pod e v1, Pod f v1, Pod g v1, Pod h v1, Pod i v1, Pod j v1, Pod k v1, Pod l v1",
			remembers:  "v1: Pod a, Pod b, Pod c, Pod d, Pod e, Pod f, Pod g, Pod h, Pod i, Pod j, Pod k, Pod l",
			condition:  "False RolloutProgressing: updating Pod a, Pod b, Pod c, Pod d, Pod e, Pod f, Pod g, Pod h, Pod i, Pod j and 2 more",
			wants:      "Pod a v2, Pod b v2, Pod c v2, Pod d v2, Pod e v2, Pod f v2, Pod g v2, Pod h v2, Pod i v2, Pod j v2, Pod k v2, Pod l v2",
			remembered: "v1:; v2: Pod a, Pod b, Pod c, Pod d, Pod e, Pod f, Pod g, Pod h, Pod i, Pod j, Pod k, Pod l",
		},
		"nothing is rounded to one": {
			kinds:   []Kind{atMost(intstr.FromString("0%"), recreated(pods))},
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v1, Pod b v1", remembers: "v1: Pod a, Pod b",
			condition:  "False RolloutProgressing: updating Pod a",
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"what is no percentage is one": {
			kinds:   []Kind{atMost(intstr.FromString("some"), recreated(pods))},
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v1, Pod b v1", remembers: "v1: Pod a, Pod b",
			condition:  "False RolloutProgressing: updating Pod a",
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"a kind that moves alone stops one that does not": {
			kinds:   []Kind{atMost(intstr.FromInt32(3), recreated(pods)), recreated(jobs)},
			version: "v2", lists: "Pod a, Pod b, Job a, Pod c", has: "Pod a v1, Pod b v1, Job a v1, Pod c v1", remembers: "v1: Pod a, Pod b, Job a, Pod c",
			condition:  "False RolloutProgressing: updating Pod a, Pod b",
			wants:      "Pod a v2, Pod b v2, Job a v1, Pod c v1",
			remembered: "v1: Job a, Pod c; v2: Pod a, Pod b",
		},
		"those that another rollout left in motion count": {
			kinds:   []Kind{atMost(intstr.FromInt32(2), recreated(pods))},
			version: "v3", lists: "Pod a, Pod b, Pod c, Pod d", has: "Pod a v2, Pod b v2, Pod c v2 unready, Pod d v1", remembers: "v1: Pod d; v2: Pod a, Pod b, Pod c",
			condition:  "False RolloutProgressing: updating Pod a, Pod c",
			wants:      "Pod a v3, Pod b v2, Pod c v3, Pod d v1",
			remembered: "v1: Pod d; v2: Pod b; v3: Pod a, Pod c",
		},
	} {
		t.Run(name, test.check)
	}
}

func TestPartition(t *testing.T) {
	from := func(place int, kind Kind) Kind {
		kind.Partition = place
		return kind
	}
	for name, test := range map[string]situation{
		"those before it stay": {
			kinds:   []Kind{from(2, recreated(pods))},
			version: "v2", lists: "Pod a, Pod b, Pod c, Pod d", has: "Pod a v1, Pod b v1, Pod c v1, Pod d v1", remembers: "v1: Pod a, Pod b, Pod c, Pod d",
			condition:  "False RolloutProgressing: updating Pod c",
			wants:      "Pod a v1, Pod b v1, Pod c v2, Pod d v1",
			remembered: "v1: Pod a, Pod b, Pod d; v2: Pod c",
		},
		"all others have moved: it says what holds the rollout": {
			kinds:   []Kind{from(2, recreated(pods))},
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v1, Pod b v1, Pod c v2", remembers: "v1: Pod a, Pod b; v2: Pod c",
			condition:  "False RolloutWaiting: partition 2 holds back Pod a, Pod b",
			wants:      "Pod a v1, Pod b v1, Pod c v2",
			remembered: "v1: Pod a, Pod b; v2: Pod c",
		},
		"one that is held is deleted by hand: it comes back at its own revision": {
			kinds:   []Kind{from(1, recreated(pods))},
			version: "v2", lists: "Pod a, Pod b", has: "Pod b v2", remembers: "v1: Pod a; v2: Pod b",
			condition:  "False RolloutWaiting: partition 1 holds back Pod a",
			wants:      "Pod a v1, Pod b v2",
			remembered: "v1: Pod a; v2: Pod b",
		},
		"one that is held and in motion is waited for": {
			kinds:   []Kind{from(1, recreated(pods))},
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v1 unready, Pod b v1", remembers: "v1: Pod a, Pod b",
			condition:  `False RolloutWaiting: child Pod a failed status check: "Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v1, Pod b v1",
			remembered: "v1: Pod a, Pod b; v2:",
		},
		"one that is new has no revision to stay at": {
			kinds:   []Kind{from(9, recreated(pods))},
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v1", remembers: "v1: Pod a",
			condition:  "False RolloutWaiting: partition 9 holds back Pod a",
			wants:      "Pod a v1, Pod b v2",
			remembered: "v1: Pod a; v2: Pod b",
		},
		"one that is as the latest revision wants it needs not stay": {
			kinds:   []Kind{from(2, recreated(pods))},
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v2, Pod b v1", remembers: "v1: Pod a, Pod b",
			condition:  "False RolloutWaiting: partition 2 holds back Pod b",
			wants:      "Pod a v2, Pod b v1",
			remembered: "v1: Pod b; v2: Pod a",
		},
		"each kind counts for itself": {
			kinds:   []Kind{from(1, recreated(pods)), from(1, recreated(jobs))},
			version: "v2", lists: "Pod a, Job a, Job b, Pod b", has: "Pod a v1, Job a v1, Job b v2, Pod b v1", remembers: "v1: Pod a, Job a, Pod b; v2: Job b",
			condition:  "False RolloutProgressing: updating Pod b",
			wants:      "Pod a v1, Job a v1, Job b v2, Pod b v2",
			remembered: "v1: Job a, Pod a; v2: Job b, Pod b",
		},
	} {
		t.Run(name, test.check)
	}
}
