// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

func watchedOf(group, kind string) WatchedObject {
	return WatchedObject{Type: object.Type{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1"}, Kind: kind}}
}

func parsed(t *testing.T, text string) *object.Object {
	t.Helper()
	of, err := object.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return of
}

func TestWhetherARolloutHasFinished(t *testing.T) {
	for name, test := range map[string]struct {
		kind, metadata, spec, status string
		want                         bool
	}{
		"a Deployment with all replicas":           {"Deployment", `"generation":2`, `"replicas":2`, `"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":2`, true},
		"one without a number has one":             {"Deployment", `"generation":1`, ``, `"observedGeneration":1,"replicas":1,"updatedReplicas":1,"availableReplicas":1`, true},
		"one that has not been looked at":          {"Deployment", `"generation":2`, `"replicas":2`, `"observedGeneration":1,"replicas":2,"updatedReplicas":2,"availableReplicas":2`, false},
		"one with old replicas":                    {"Deployment", `"generation":2`, `"replicas":2`, `"observedGeneration":2,"replicas":3,"updatedReplicas":2,"availableReplicas":2`, false},
		"one whose new replicas are not available": {"Deployment", `"generation":2`, `"replicas":2`, `"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":1`, false},
		"one of none":                              {"Deployment", `"generation":2`, `"replicas":0`, `"observedGeneration":2`, true},
		"a StatefulSet with an old replica":        {"StatefulSet", `"generation":2`, `"replicas":2`, `"observedGeneration":2,"replicas":2,"updatedReplicas":1,"availableReplicas":2`, false},
		"a StatefulSet with all":                   {"StatefulSet", `"generation":2`, `"replicas":2`, `"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":2`, true},
		"a DaemonSet on all nodes":                 {"DaemonSet", `"generation":2`, ``, `"observedGeneration":2,"desiredNumberScheduled":3,"currentNumberScheduled":3,"updatedNumberScheduled":3,"numberAvailable":3`, true},
		"a DaemonSet on some":                      {"DaemonSet", `"generation":2`, ``, `"observedGeneration":2,"desiredNumberScheduled":3,"currentNumberScheduled":3,"updatedNumberScheduled":2,"numberAvailable":3`, false},
		"a ReplicaSet, which has no rollout":       {"ReplicaSet", `"generation":2`, `"replicas":2`, ``, true},
	} {
		t.Run(name, func(t *testing.T) {
			text := `{"apiVersion":"apps/v1","kind":"` + test.kind + `","metadata":{"name":"hook","namespace":"ns",` + test.metadata + `},"spec":{` + test.spec + `},"status":{` + test.status + `}}`
			if _, got := watchedOf("apps", test.kind).version(parsed(t, text)); got != test.want {
				t.Errorf("it has: %v", got)
			}
		})
	}
}

func TestWhatIsAChangeOfAnObject(t *testing.T) {
	deployment := func(replicas, image, status string) string {
		return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"hook","namespace":"ns","resourceVersion":"` + status + `"},
			"spec":{"replicas":` + replicas + `,"template":{"image":"` + image + `"}},"status":{"replicas":` + replicas + `,"updatedReplicas":` + replicas + `,"availableReplicas":` + replicas + `}}`
	}
	settings := func(value, status string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hook","namespace":"ns"},"data":{"key":"` + value + `"},"status":"` + status + `"}`
	}
	for name, test := range map[string]struct {
		of            WatchedObject
		before, after string
		want          bool
	}{
		"another template of a Deployment":    {watchedOf("apps", "Deployment"), deployment("1", "a", "1"), deployment("1", "b", "2"), true},
		"another number of its replicas":      {watchedOf("apps", "Deployment"), deployment("1", "a", "1"), deployment("2", "a", "2"), false},
		"another content of another object":   {watchedOf("", "ConfigMap"), settings("a", "1"), settings("b", "1"), true},
		"another status of another object":    {watchedOf("", "ConfigMap"), settings("a", "1"), settings("a", "2"), false},
		"a Deployment of another API is none": {watchedOf("example.com", "Deployment"), deployment("1", "a", "1"), deployment("2", "a", "2"), true},
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := test.of.version(parsed(t, test.before))
			after, known := test.of.version(parsed(t, test.after))
			if !known || (before != after) != test.want {
				t.Errorf("it is known: %v, and another: %v", known, before != after)
			}
		})
	}
	if _, known := watchedOf("", "ConfigMap").version(nil); known {
		t.Error("an object that does not exist has a version")
	}
}

func TestOnlyChangesAfterTheStartCount(t *testing.T) {
	w := &watchedObjects{versions: make([]uint64, 2)}
	if w.set(0, 7) {
		t.Error("the first version is a change")
	}
	w.started = true
	for i, want := range []bool{false, true, false} {
		version := []uint64{7, 8, 8}[i]
		if got := w.set(0, version); got != want {
			t.Errorf("version %d is a change: %v", version, got)
		}
	}
	if !w.set(1, 1) {
		t.Error("a rollout that ends after the start is no change")
	}
}
