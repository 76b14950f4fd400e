// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestTrouble(t *testing.T) {
	for name, test := range map[string]struct{ object, want string }{
		"nothing is said":                {`{kind: ConfigMap, data: {a: b}}`, ""},
		"a Pod that runs":                {`{apiVersion: v1, kind: Pod, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`, ""},
		"a Pod that has ended well":      {`{apiVersion: v1, kind: Pod, status: {phase: Succeeded, conditions: [{type: Ready, status: "False"}]}}`, ""},
		"a Pod without a status":         {`{apiVersion: v1, kind: Pod}`, "not started"},
		"a Pod that waits":               {`{apiVersion: v1, kind: Pod, status: {phase: Pending}}`, "Pending"},
		"a Pod whose image is missing":   {`{apiVersion: v1, kind: Pod, status: {phase: Pending, containerStatuses: [{state: {running: {}}}, {state: {waiting: {reason: ImagePullBackOff, message: "no\n such"}}}]}}`, "ImagePullBackOff: no such"},
		"a Pod that is not ready":        {`{apiVersion: v1, kind: Pod, status: {phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady, message: m}]}}`, "not Ready: ContainersNotReady: m"},
		"a Pod that has failed":          {`{apiVersion: v1, kind: Pod, status: {phase: Failed, message: evicted}}`, "Failed: evicted"},
		"all replicas are ready":         {`{kind: Deployment, spec: {replicas: 2}, status: {readyReplicas: 2, conditions: [{type: Available, status: "True"}]}}`, ""},
		"some replicas are ready":        {`{kind: Deployment, spec: {replicas: 2}, status: {readyReplicas: 1}}`, "1 of 2 ready"},
		"no replica is ready":            {`{kind: ReplicaSet, spec: {replicas: 2}, status: {replicas: 2}}`, "0 of 2 ready"},
		"no status yet":                  {`{kind: StatefulSet, spec: {replicas: 2}}`, ""},
		"replicas of another sort":       {`{kind: Website, spec: {replicas: 2}, status: {ready: 1}}`, ""},
		"a DaemonSet":                    {`{kind: DaemonSet, status: {desiredNumberScheduled: 3, numberReady: 1}}`, "1 of 3 ready"},
		"a Job that has failed":          {`{kind: Job, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]}}`, "Failed: BackoffLimitExceeded"},
		"a type of one's own":            {`{kind: Website, status: {conditions: [{type: Ready, status: "Unknown", message: who knows}]}}`, "not Ready: who knows"},
		"a claim without a volume":       {`{kind: PersistentVolumeClaim, status: {phase: Pending}}`, "Pending"},
		"a claim with a volume":          {`{kind: PersistentVolumeClaim, status: {phase: Bound}}`, ""},
		"it is being deleted":            {`{kind: ConfigMap, metadata: {deletionTimestamp: "2024-01-01T00:00:00Z"}}`, "is being deleted"},
		"it waits for its finalizers":    {`{kind: ConfigMap, metadata: {deletionTimestamp: "2024-01-01T00:00:00Z", finalizers: [a, b]}}`, "is being deleted, and waits for a, b"},
		"a status of an unusual form":    {`{kind: Website, spec: {replicas: many}, status: {conditions: {a: b}, phase: {}}}`, ""},
		"a status that is not an object": {`{kind: Website, spec: {replicas: 1}, status: fine}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := yaml.YAMLToJSON([]byte(test.object))
			if err != nil {
				t.Fatal(err)
			}
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(raw); err != nil {
				t.Fatal(err)
			}
			if got := Trouble(object); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
