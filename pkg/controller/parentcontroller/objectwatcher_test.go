// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
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
	w := newObjectWatcher(make([]WatchedObject, 2), nil, nil)
	if w.set(0, 7, true) {
		t.Error("the first version is a change")
	}
	w.started = true
	for i, want := range []bool{false, true, false} {
		version := []uint64{7, 8, 8}[i]
		if got := w.set(0, version, true); got != want {
			t.Errorf("version %d is a change: %v", version, got)
		}
	}
	if !w.set(1, 1, true) {
		t.Error("a rollout that ends after the start is no change")
	}
}

func TestWhenTheEndOfARolloutIsAChange(t *testing.T) {
	deployment := func(image string, updated, available, there int) string {
		return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"hook","namespace":"ns"},
			"spec":{"replicas":2,"template":{"image":%q}},"status":{"replicas":%d,"updatedReplicas":%d,"availableReplicas":%d}}`,
			image, there, updated, available)
	}
	undone := deployment("v1", 2, 2, 3)
	runs := func(image string) string { return deployment(image, 2, 2, 2) }
	for name, test := range map[string]struct {
		states []string
		want   bool
	}{
		"another version":                        {[]string{deployment("v2", 1, 2, 3), runs("v2")}, true},
		"a rollout that is undone":               {[]string{deployment("v2", 1, 2, 3), undone, runs("v1")}, true},
		"one whose new replica never ran":        {[]string{deployment("v2", 0, 2, 2), runs("v1")}, true},
		"a replica that is replaced by the same": {[]string{deployment("v1", 2, 1, 2), runs("v1")}, false},
		"an object that goes and comes again":    {[]string{"", runs("v1")}, false},
		"a rollout that goes on":                 {[]string{deployment("v2", 1, 2, 3), deployment("v2", 2, 2, 3)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			of, w := watchedOf("apps", "Deployment"), newObjectWatcher(make([]WatchedObject, 1), nil, nil)
			version, hasEnded := of.version(parsed(t, runs("v1")))
			w.set(0, version, hasEnded)
			w.started = true
			changes := 0
			for _, state := range test.states {
				var now *object.Object
				if state != "" {
					now = parsed(t, state)
				}
				if version, hasEnded := of.version(now); w.set(0, version, hasEnded) {
					changes++
				}
			}
			if want := map[bool]int{true: 1}[test.want]; changes != want {
				t.Errorf("there are %d changes, want %d", changes, want)
			}
		})
	}
}

func TestTheProblemOfOneObjectDoesNotEndWithThatOfAnother(t *testing.T) {
	w := newObjectWatcher(make([]WatchedObject, 2), nil, nil)
	forbidden := errors.New("forbidden")
	if !w.setProblem(0, forbidden) || w.setProblem(0, forbidden) {
		t.Error("a problem is not news once")
	}
	w.setProblem(1, nil)
	if problem := w.problem(); problem == nil || !errors.Is(problem.Err, forbidden) {
		t.Errorf("the problem is %v", problem)
	}
	w.setProblem(0, nil)
	if problem := w.problem(); problem != nil {
		t.Errorf("afterwards, the problem is %v", problem)
	}
}

func TestAControllerRunsWithoutATypeOfResyncOn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","groupVersion":"v1",
			"resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true}]}`)
	}))
	defer server.Close()
	client, err := host.NewClient(&rest.Config{Host: server.URL}, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	watched := func(apiVersion, resource string) v1alpha1.WatchedObject {
		rule := v1alpha1.ResourceRule{APIVersion: apiVersion, Resource: resource}
		return v1alpha1.WatchedObject{ResourceRule: rule, Namespace: new("hooks"), Name: "hook"}
	}
	objects := []v1alpha1.WatchedObject{watched("argoproj.io/v1alpha1", "rollouts"), watched("v1", "configmaps")}
	spec := specOf(at("http://hooks.example"), pods)
	if err := spec.resolveResyncOn(t.Context(), discovery.New(client, func(string) {}), objects); err != nil {
		t.Fatal(err)
	}
	for _, required := range spec.Reads() {
		if required.Resource == "rollouts" {
			t.Errorf("the account needs %v", required)
		}
	}
	config := hostOfTen(t)
	c := controllerAt(t, config, Dependencies{
		Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
	}, spec)
	if !c.MissesTypeOf("argoproj.io") || c.MissesTypeOf("apps") {
		t.Error("the controller is not reconciled when the type appears")
	}
	defer c.watcher.start(t.Context())()
	problem := c.RuntimeProblem()
	if problem == nil || !strings.Contains(problem.Err.Error(), "spec.resyncOn[0]: the server cannot read hooks/hook") ||
		!strings.Contains(problem.Err.Error(), `can't find resource "rollouts"`) {
		t.Errorf("the problem is %v", problem)
	}
	known := *spec
	known.ResyncOn = slices.Clone(spec.ResyncOn)
	known.ResyncOn[0] = WatchedObject{Type: pods, Name: spec.ResyncOn[0].Name}
	if spec.SameTypes(&known) {
		t.Error("no other controller starts when the type appears")
	}
}
