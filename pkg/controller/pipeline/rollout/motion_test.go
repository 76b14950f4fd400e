// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
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
			condition: `False RolloutWaiting: child Pod a failed status check: "Ready" condition status is "False" ` +
				`(want "True"); partition 1 holds it back`,
			wants:      "Pod a v1, Pod b v1",
			remembered: "v1: Pod a, Pod b; v2:",
		},
		"one that has moved is not healthy": {
			kinds:   []Kind{from(1, recreated(pods))},
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v1, Pod b v2 unready", remembers: "v1: Pod a; v2: Pod b",
			condition: "False RolloutWaiting: partition 1 holds back Pod a; " +
				`child Pod b failed status check: "Ready" condition status is "False" (want "True")`,
			wants:      "Pod a v1, Pod b v2",
			remembered: "v1: Pod a; v2: Pod b",
		},
		"one of which no revision is known stays as it is": {
			kinds:   []Kind{from(2, recreated(pods))},
			version: "v2", lists: "Pod a, Pod b, Pod c", has: "Pod a v1, Pod b v2, Pod c v1",
			condition:  "False RolloutProgressing: updating Pod c",
			wants:      "Pod default/a v1, Pod b v2, Pod c v2",
			remembered: "v2: Pod b, Pod c",
		},
		"one that is new has no revision to stay at": {
			kinds:   []Kind{from(9, recreated(pods))},
			version: "v2", lists: "Pod a, Pod b", has: "Pod a v1", remembers: "v1: Pod a",
			condition:  "False RolloutWaiting: partition 9 holds back Pod a; missing child Pod b",
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

func TestStatusChecks(t *testing.T) {
	const ready = `conditions: [{type: Other}, {type: Ready, status: "True", reason: Started}, {type: Ready, status: "False"}]`
	tests := map[string]struct {
		status string
		check  v1alpha1.StatusConditionCheck
		want   string
	}{
		"a condition that is there":          {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Ready"}},
		"with the status and the reason":     {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Ready", Status: ptr.To("True"), Reason: ptr.To("Started")}},
		"with another status":                {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Ready", Status: ptr.To("False")}, want: `"Ready" condition status is "True" (want "False")`},
		"with another reason":                {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Ready", Status: ptr.To("True"), Reason: ptr.To("Done")}, want: `"Ready" condition reason is "Started" (want "Done")`},
		"without a status":                   {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Other", Status: ptr.To("True")}, want: `"Other" condition status is "" (want "True")`},
		"a condition that is not there":      {status: ready, check: v1alpha1.StatusConditionCheck{Type: "Alive"}, want: `required condition type missing: "Alive"`},
		"no status":                          {status: ``, check: v1alpha1.StatusConditionCheck{Type: "Ready"}, want: `required condition type missing: "Ready"`},
		"conditions that are something else": {status: `conditions: {Ready: "True"}`, check: v1alpha1.StatusConditionCheck{Type: "Ready"}, want: `required condition type missing: "Ready"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := failure(parse(t, `{kind: Pod, status: {`+test.status+`}}`), test.check); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}

func TestWhetherAStatusIsAboutTheLatestSpec(t *testing.T) {
	tests := map[string]struct {
		status string
		want   bool
	}{
		"of this generation":       {`{observedGeneration: 3}`, true},
		"of one before":            {`{observedGeneration: 2}`, false},
		"of one after":             {`{observedGeneration: 4}`, true},
		"that does not say":        {`{}`, true},
		"that says none":           {`{observedGeneration: 0}`, true},
		"that says something else": {`{observedGeneration: "2"}`, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := isSpecObserved(parse(t, `{kind: Pod, metadata: {generation: 3}, status: `+test.status+`}`)); got != test.want {
				t.Errorf("it is: %v", got)
			}
		})
	}
}

// A Deployment is Available through its old Pods while none of the new version starts.
func TestAChildHasToCompleteTheChange(t *testing.T) {
	const (
		available = `replicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [
			{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]`
		done   = `observedGeneration: 2, updatedReplicas: 1, ` + available
		denied = `observedGeneration: 2, ` + available
		absent = "no status"
		behind = `observedGeneration: 1, updatedReplicas: 1, ` + available
	)
	tests := map[string]struct {
		kind    string // with its apiVersion
		age     time.Duration
		spec    string
		status  string
		sibling string // status of another child of the kind
		want    string
		recheck time.Duration
	}{
		"a Deployment that is done":     {kind: "apps/v1 Deployment", status: done},
		"a Deployment without new Pods": {kind: "apps/v1 Deployment", status: denied, want: "Updated: 0/1"},
		"a Deployment whose status is of before": {
			kind: "apps/v1 Deployment", status: behind,
			want: "Deployment generation is 2, but latest observed generation is 1",
		},
		"a new one, and others have a controller": {
			kind: "apps/v1 Deployment", age: time.Hour, sibling: done, want: unobserved,
		},
		"a new one, and nothing shows a controller": {
			kind: "apps/v1 Deployment", age: 3 * time.Second, want: "Replicas: 0/1", recheck: 7 * time.Second,
		},
		"one without controller": {kind: "apps/v1 Deployment", age: time.Minute},
		"a StatefulSet that waits": {
			kind: "apps/v1 StatefulSet", status: "observedGeneration: 2, replicas: 1", want: "Ready: 0/1",
		},
		"a StatefulSet without controller": {kind: "apps/v1 StatefulSet", age: time.Minute, status: "replicas: 0"},
		"a custom resource that is not ready": {
			kind: "a.example/v1 Bucket", want: "no quota",
			status: `conditions: [{type: Ready, status: "False", message: "no quota"}]`,
		},
		"a custom resource whose conditions name no generation, and others name theirs": {
			kind: "a.example/v1 Bucket", status: `conditions: [{type: Ready, status: "True"}]`, sibling: done,
		},
		"a custom resource that was just created, and others have a controller": {
			kind: "a.example/v1 Bucket", status: absent, sibling: done, want: unobserved,
		},
		"a custom resource that has stalled": {
			kind: "a.example/v1 Bucket", want: "no quota",
			status: `conditions: [{type: Stalled, status: "True", message: "no quota"}]`,
		},
		"a custom resource with a status":              {kind: "a.example/v1 Bucket", status: "size: 1"},
		"a custom resource whose status is a surprise": {kind: "a.example/v1 Bucket", status: "observedGeneration: many"},
		"a DaemonSet whose Pods others delete": {
			kind: "apps/v1 DaemonSet", spec: "updateStrategy: {type: OnDelete}",
			status: "observedGeneration: 2, desiredNumberScheduled: 3, currentNumberScheduled: 3",
		},
		"a Pod that is pending":          {kind: "v1 Pod", status: "phase: Pending"},
		"a claim that waits for its Pod": {kind: "v1 PersistentVolumeClaim", status: "phase: Pending"},
		"a ConfigMap":                    {kind: "v1 ConfigMap", status: absent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var apiVersion, kind string
			for i := range test.kind {
				if test.kind[i] == ' ' {
					apiVersion, kind = test.kind[:i], test.kind[i+1:]
				}
			}
			childWith := func(name, status string) *child {
				created := noon.Add(-test.age).Format(time.RFC3339)
				shown := `status: {` + status + `},`
				if status == absent {
					shown = ""
				}
				observed := parse(t, `{apiVersion: `+apiVersion+`, kind: `+kind+`, spec: {`+test.spec+`}, `+shown+` metadata: {
					name: `+name+`, uid: `+name+`, resourceVersion: "1", generation: 2, creationTimestamp: "`+created+`"}}`)
				return &child{Key: object.KeyOf(observed), observed: observed}
			}
			c := &children{Rollout: &Rollout{cache: &RevisionCache{}}, now: noon}
			c.inOrder = []*child{childWith("a", test.status)}
			if test.sibling != "" {
				c.inOrder = append(c.inOrder, childWith("b", test.sibling))
			}
			if got := c.whyNotCompleted(c.inOrder[0]); got != test.want || c.recheck != test.recheck {
				t.Errorf("it says %q and looks again after %s, want %q and %s", got, c.recheck, test.want, test.recheck)
			}
		})
	}
}

// Whether a rollout is over, and what can be undone, is decided by the last child as by those before it.
func TestARolloutIsOverWhenTheLastChildIsHealthy(t *testing.T) {
	w := newWorld(t, "v2", "Pod a")
	w.remembers("v1: Pod a")
	decides := func(has, condition string, remembered ...string) {
		t.Helper()
		w.snapshot.Children = []pipeline.Group{{Type: pods}}
		w.has(has)
		decision := w.decide()
		w.write(decision.Writes)
		if diff := cmp.Diff("Updated "+condition, conditionText(decision.Updated)); diff != "" {
			t.Errorf("condition (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(remembered, w.remembered()); diff != "" {
			t.Errorf("revisions (-want +got):\n%s", diff)
		}
	}
	const unready = `False RolloutWaiting: ` +
		`child Pod a failed status check: "Ready" condition status is "False" (want "True")`
	decides("Pod a v1", "False RolloutProgressing: updating Pod a", "v1:", "v2: Pod a")
	decides("Pod a v2 unready", unready, "v1:", "v2: Pod a")
	w.parent("v1", "Pod a") // it is undone
	decides("Pod a v2 unready", "False RolloutProgressing: updating Pod a", "v1: Pod a", "v2:")
	decides("Pod a v1", "True OnLatestRevision: latest ControllerRevision: "+nameOfV("v1"), "v1: Pod a")
	decides("Pod a v1 unready", "True OnLatestRevision: latest ControllerRevision: "+nameOfV("v1"), "v1: Pod a")
}

func TestWhatIsAdvisedAboutAFailedStatusCheck(t *testing.T) {
	const check = "spec.childResources[1].updateStrategy.statusChecks.conditions[0]"
	tests := map[string]struct{ check, status, want string }{
		"a type that the child has, with another status": {
			"Ready", `conditions: [{type: Ready, status: "False"}]`,
			`child Pod a failed status check: "Ready" condition status is "False" (want "True"); ` + check + " requires it",
		},
		"a type like one that the child has": {
			"Redy", `conditions: [{type: Available, status: "True"}, {type: Ready, status: "True"}]`,
			check + `.type is "Redy", and Pod a has no such condition (it has only "Available", "Ready"): did you mean "Ready"?`,
		},
		"a type unlike all that the child has": {
			"Healthy", `conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True"}]`,
			check + `.type is "Healthy", and Pod a has no such condition (it has only "Available", "Progressing"): correct ` +
				`the type if it is misspelled`,
		},
		"a child without conditions": {
			"Ready", `phase: Running`, check + `.type is "Ready", and Pod a has no such condition (it has none): correct the ` +
				`type if it is misspelled`,
		},
		"a child with too many to list": {
			"Healthy", `conditions: [{type: A}, {type: B}, {type: C}, {type: D}, {type: E}, {type: F}, {type: G}, {type: H}, {type: I}, {type: J}, {type: K}, {type: L}]`,
			check + `.type is "Healthy", and Pod a has no such condition (it has only "A", "B", "C", "D", "E", "F", "G", ` +
				`"H", "I", "J" and 2 more): correct the type if it is misspelled`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check := v1alpha1.StatusConditionCheck{Type: test.check, Status: ptr.To("True")}
			observed := parse(t, `{kind: Pod, metadata: {name: a}, status: {`+test.status+`}}`)
			child := &child{
				kind:     &Kind{Type: pods, Field: "spec.childResources[1].updateStrategy"},
				observed: observed, failed: &failedCheck{StatusConditionCheck: check, of: "Pod a", why: failure(observed, check)},
			}
			if got := child.advice(); got != test.want {
				t.Errorf("it says\n%s, want\n%s", got, test.want)
			}
		})
	}
	if got := (&child{}).advice() + (*child)(nil).advice(); got != "" {
		t.Errorf("about no check, it says %s", got)
	}
}

func TestADecisionAdvisesAboutTheCheckThatKeepsItWaiting(t *testing.T) {
	for name, test := range map[string]struct {
		child  string
		advice bool
	}{
		"the child lacks the condition": {"Pod a v2 silent", true},
		"the child is missing":          {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "v2", "Pod a", "Pod b")
			w.has(apart(test.child, ", ")...)
			w.has("Pod b v1")
			w.remembers("v1: Pod b", "v2: Pod a")
			decision := w.decide()
			if !decision.Waits || (decision.Advice != "") != test.advice {
				t.Errorf("it waits: %v, and advises %q", decision.Waits, decision.Advice)
			}
		})
	}
}
