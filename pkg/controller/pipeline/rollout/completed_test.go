// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
