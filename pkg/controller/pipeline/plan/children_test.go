// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

const (
	childA        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {key: one}}`
	childAChanged = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {key: two}}`
	childB        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}}`
	dying         = `deletionTimestamp: "2026-03-04T05:06:07Z", finalizers: [a/b]`
)

func TestUpdateMethods(t *testing.T) {
	states := map[string]struct {
		observed string // as the API server has it; "" if it is missing
		last     string // as it was last applied; "" without a record
		desired  string
		want     map[Method]pipeline.Op
		why      map[Method]string
	}{
		"a child that is missing": {
			desired: childA,
			want:    map[Method]pipeline.Op{"": pipeline.Create, OnDelete: pipeline.Create, Recreate: pipeline.Create, InPlace: pipeline.Create},
			why: map[Method]string{
				"": "the hook lists it and it does not exist", OnDelete: "the hook lists it and it does not exist",
				Recreate: "the hook lists it and it does not exist", InPlace: "the hook lists it and it does not exist",
			},
		},
		"a child that differs": {
			observed: childA, last: childA, desired: childAChanged,
			want: map[Method]pipeline.Op{"": pipeline.Keep, OnDelete: pipeline.Keep, Recreate: pipeline.Recreate, InPlace: pipeline.Update},
			why: map[Method]string{
				"": "its update method is OnDelete", OnDelete: "its update method is OnDelete",
				Recreate: "it differs at data.key", InPlace: "it differs at data.key",
			},
		},
		"a child that somebody changed": {
			observed: childAChanged, last: childA, desired: childA,
			want: map[Method]pipeline.Op{"": pipeline.Keep, OnDelete: pipeline.Keep, Recreate: pipeline.Recreate, InPlace: pipeline.Update},
			why: map[Method]string{
				"": "its update method is OnDelete", OnDelete: "its update method is OnDelete",
				Recreate: "it differs at data.key", InPlace: "it differs at data.key",
			},
		},
		"a child that lost a field of ours": {
			observed: childB, last: childB, desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop, x: "1"}}}`,
			want: map[Method]pipeline.Op{"": pipeline.Keep, OnDelete: pipeline.Keep, Recreate: pipeline.Recreate, InPlace: pipeline.Update},
			why: map[Method]string{
				"": "its update method is OnDelete", OnDelete: "its update method is OnDelete",
				Recreate: "it differs at metadata.labels.x", InPlace: "it differs at metadata.labels.x",
			},
		},
		"a child that is the same": {
			observed: childA, last: childA, desired: childA,
			want: map[Method]pipeline.Op{"": pipeline.Keep, OnDelete: pipeline.Keep, Recreate: pipeline.Keep, InPlace: pipeline.Keep},
			why: map[Method]string{
				"": "its update method is OnDelete", OnDelete: "its update method is OnDelete",
				Recreate: "it is in its desired state", InPlace: "it is in its desired state",
			},
		},
		"a child that others added to": {
			observed: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop, theirs: "1"}, annotations: {theirs: "1"}}, data: {key: one, theirs: x}}`,
			last:     childA, desired: childA,
			want: map[Method]pipeline.Op{"": pipeline.Keep, OnDelete: pipeline.Keep, Recreate: pipeline.Keep, InPlace: pipeline.Keep},
			why: map[Method]string{
				"": "its update method is OnDelete", OnDelete: "its update method is OnDelete",
				Recreate: "it is in its desired state", InPlace: "it is in its desired state",
			},
		},
		"a child without a record of what was last applied": {
			observed: childA, desired: childA,
			want: map[Method]pipeline.Op{
				"": pipeline.ToDynamicApply, OnDelete: pipeline.ToDynamicApply, Recreate: pipeline.Update, InPlace: pipeline.Update,
			},
			why: map[Method]string{
				"": whyMarked, OnDelete: whyMarked,
				Recreate: "it differs at metadata.annotations[metacontroller.k8s.io/last-applied-configuration]",
				InPlace:  "it differs at metadata.annotations[metacontroller.k8s.io/last-applied-configuration]",
			},
		},
		"a child with a record that says something else": {
			observed: childA, last: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`, desired: childA,
			want: map[Method]pipeline.Op{"": pipeline.Keep, OnDelete: pipeline.Keep, Recreate: pipeline.Update, InPlace: pipeline.Update},
			why: map[Method]string{
				"": "its update method is OnDelete", OnDelete: "its update method is OnDelete",
				Recreate: "it differs at metadata.annotations[metacontroller.k8s.io/last-applied-configuration]",
				InPlace:  "it differs at metadata.annotations[metacontroller.k8s.io/last-applied-configuration]",
			},
		},
		"a child that differs and is being deleted": {
			observed: strings.Replace(childA, "{name: a", "{name: a, "+dying, 1), last: childA, desired: childAChanged,
			want: map[Method]pipeline.Op{"": pipeline.Keep, OnDelete: pipeline.Keep, Recreate: pipeline.Keep, InPlace: pipeline.Keep},
			why: map[Method]string{
				"": "it is being deleted", OnDelete: "it is being deleted", Recreate: "it is being deleted", InPlace: "it is being deleted",
			},
		},
	}
	for name, state := range states {
		for method, want := range state.want {
			t.Run(name+", method "+string(method), func(t *testing.T) {
				w := newWorld(t, web, configMaps)
				if method != "" {
					w.method(method)
				}
				if state.observed != "" && state.last != "" {
					w.children[configMaps] = append(w.children[configMaps], w.applied(configMaps, state.observed, state.last))
				} else if state.observed != "" {
					child := decode(t, w.applied(configMaps, state.observed, state.observed))
					delete(child["metadata"].(map[string]any), "annotations")
					w.children[configMaps] = append(w.children[configMaps], w.stored(child, "uid-of-a"))
				}
				planned := w.plan(w.answer(state.desired))
				name := parseYAML(t, state.desired).Name
				step := stepFor(t, planned, name)
				if step.Op != want || step.Why != state.why[method] {
					t.Errorf("%s because %q, want %s because %q", step.Op, step.Why, want, state.why[method])
				}
				if step.Type != configMaps || step.Namespace != "default" || step.Observed != w.child(configMaps, name) {
					t.Errorf("the step is for %s %s/%s, observed %v", step.Type, step.Namespace, step.Name, step.Observed)
				}
				wantsBody := want == pipeline.Create || want == pipeline.Update || want == pipeline.ToDynamicApply ||
					want == pipeline.Recreate
				if hasBody := step.Body != nil; hasBody != wantsBody {
					t.Errorf("%s has the body %s", step.Op, step.Body)
				}
				if len(planned.Refused) > 0 {
					t.Errorf("refused: %v", planned.Refused)
				}
			})
		}
	}
}

func TestTheMethodOfAChildIsThatOfItsGroupAndKind(t *testing.T) {
	w := newWorld(t, web, configMaps, deployments)
	w.strategies[configMaps.GroupKind()] = Strategy{Method: InPlace}
	w.strategies[deployments.GroupKind()] = Strategy{Method: Recreate}
	deployment := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, labels: {app: shop}}, spec: {replicas: 1}}`
	w.has(configMaps, childA).has(deployments, deployment)
	planned := w.plan(w.answer(childAChanged, strings.Replace(deployment, "replicas: 1", "replicas: 2", 1)))
	want := []string{"update ConfigMap default/a", "recreate Deployment default/d"}
	if diff := cmp.Diff(want, steps(planned)[:2]); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// An update replaces the object it was worked out for and no other: its resource
// version and all that others have put in are sent back.
func TestUpdateBody(t *testing.T) {
	w := newWorld(t, web, configMaps).method(InPlace)
	w.defaults = func(content map[string]any) { content["immutable"] = false }
	observed := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop, old: "1", theirs: "1"}, annotations: {theirs: "1"}, generation: 4, finalizers: [a/b]},
		data: {key: one, old: x, theirs: z}, status: {ready: true}}`
	last := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop, old: "1"}}, data: {key: one, old: x}}`
	w.children[configMaps] = append(w.children[configMaps], w.applied(configMaps, observed, last))

	desired := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, uid: other, resourceVersion: "1", generation: 9, creationTimestamp: null, selfLink: /x, managedFields: []},
		data: {key: "<two>"}, status: {ready: false}}`
	body := w.content(stepFor(t, w.plan(w.answer(desired)), "a").Body)
	want := decode(t, w.child(configMaps, "a"))
	metadata := want["metadata"].(map[string]any)
	metadata["labels"] = map[string]any{"app": "shop", "theirs": "1"}
	metadata["annotations"] = map[string]any{
		"theirs": "1",
		object.LastAppliedAnnotation: `{"apiVersion":"v1","data":{"key":"\u003ctwo\u003e"},"kind":"ConfigMap","metadata":{"creationTimestamp":null,"generation":9,` +
			`"labels":{"app":"shop"},"name":"a","namespace":"default","resourceVersion":"1","selfLink":"/x","uid":"other"},"status":{"ready":false}}`,
	}
	want["data"] = map[string]any{"key": "<two>", "theirs": "z"}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestDeletions(t *testing.T) {
	tests := map[string]struct {
		has     []string
		answers []string
		want    []string
	}{
		"a child that the hook does not list":       {has: []string{childA, childB}, answers: []string{childB}, want: []string{"delete ConfigMap default/a"}},
		"all children if the hook lists none":       {has: []string{childA, childB}, want: []string{"delete ConfigMap default/a", "delete ConfigMap default/b"}},
		"not a child that is being deleted already": {has: []string{strings.Replace(childA, "{name: a", "{name: a, "+dying, 1)}},
		"nothing if the hook lists what is there":   {has: []string{childA}, answers: []string{childA}},
		"a child with the name of a desired one of another type": {
			has: []string{childA}, answers: []string{`{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: shop}}}`},
			want: []string{"delete ConfigMap default/a", "create Pod default/a"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			planned := newWorld(t, web, configMaps, pods).has(configMaps, test.has...).plan(newWorld(t, web).answer(test.answers...))
			if diff := cmp.Diff(test.want, writes(planned)); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// A spec may declare two versions of a type, so that the hook can go over from one to the other.
func TestAChildThatIsDesiredInAnotherVersionIsNotDeleted(t *testing.T) {
	newer := configMaps
	newer.Version = "v2"
	inNewer := strings.Replace(childA, "apiVersion: v1", "apiVersion: v2", 1)
	w := newWorld(t, web, configMaps, newer).has(configMaps, childA, childB).has(newer, inNewer, strings.Replace(childB, "apiVersion: v1", "apiVersion: v2", 1))
	if diff := cmp.Diff([]string{"delete ConfigMap default/b", "delete ConfigMap default/b"}, writes(w.plan(w.answer(inNewer)))); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestADeletionSaysWhatItDeletesAndWhy(t *testing.T) {
	w := newWorld(t, web, configMaps).has(configMaps, childA)
	step := stepFor(t, w.plan(w.answer()), "a")
	if step.Observed != w.child(configMaps, "a") || step.Why != "the hook does not list it" {
		t.Errorf("observed is %v, why is %q", step.Observed, step.Why)
	}
}

// First all that is to go, then all that is to be, either by group, version and kind;
// in a type the children come in the order of the answer.
func TestOrderOfSteps(t *testing.T) {
	deployment := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: old, labels: {app: shop}}}`
	pod := `{apiVersion: v1, kind: Pod, metadata: {name: old, labels: {app: shop}}}`
	w := newWorld(t, web, deployments, pods, configMaps).method(InPlace)
	w.has(deployments, deployment).has(pods, pod).has(configMaps, childA)
	w.hasAsIs(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, namespace: default, uid: u, resourceVersion: "1", labels: {app: shop}}}`)
	response := w.answer(
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: z, labels: {app: shop}}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: w, labels: {app: shop}}}`,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, labels: {app: shop}}}`,
		childAChanged, childB,
	)
	response.Status = []byte(`{"ready":true}`)
	want := []string{
		"adopt ConfigMap default/orphan",
		"delete Pod default/old", "delete Deployment default/old",
		"update ConfigMap default/a", "create ConfigMap default/b", "create Pod default/w",
		"create Deployment default/z", "create Deployment default/x",
		"status Web default/shop",
	}
	if diff := cmp.Diff(want, steps(w.plan(response))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestOfTwoDesiredChildrenWithOneNameTheLastCounts(t *testing.T) {
	w := newWorld(t, web, configMaps)
	planned := w.plan(w.answer(childA, childB, childAChanged))
	want := []string{"create ConfigMap default/a", "create ConfigMap default/b"}
	if diff := cmp.Diff(want, steps(planned)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if data := w.content(planned.Steps[0].Body)["data"].(map[string]any)["key"]; data != "two" {
		t.Errorf("a is created with %v", data)
	}
}

func TestChildrenOfAParentThatIsBeingDeletedAreLeftAlone(t *testing.T) {
	w := newWorld(t, strings.Replace(web, "{name: shop", "{name: shop, "+dying, 1), configMaps).method(InPlace)
	w.has(configMaps, childA)
	response := w.answer(childAChanged, childB)
	response.Status = []byte(`{"phase":"Stopping"}`)
	planned := w.plan(response)
	if diff := cmp.Diff([]string{"status Web default/shop"}, steps(planned)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestAClusterScopedParentHasChildrenInNamespacesAndOutside(t *testing.T) {
	w := newWorld(t, fleet, configMaps, namespaces).method(InPlace)
	w.has(configMaps, strings.Replace(childA, "{name: a", "{name: a, namespace: one", 1)).has(namespaces, `{apiVersion: v1, kind: Namespace, metadata: {name: ns1, labels: {app: shop}}}`)
	planned := w.plan(w.answer(
		strings.Replace(childA, "{name: a", "{name: a, namespace: one", 1),
		strings.Replace(childA, "{name: a", "{name: a, namespace: two", 1),
		`{apiVersion: v1, kind: Namespace, metadata: {name: ns1, labels: {app: shop}}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: ns2, labels: {app: shop}}}`,
	))
	want := []string{"keep ConfigMap one/a", "create ConfigMap two/a", "keep Namespace ns1", "create Namespace ns2"}
	if diff := cmp.Diff(want, steps(planned)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string(nil), refusals(planned)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

func TestASnapshotNeedsASelector(t *testing.T) {
	w := newWorld(t, web)
	snapshot := w.snapshot()
	snapshot.Selector = nil
	if planned, err := Composite(snapshot, w.answer(), nil, &w.upToDate); err == nil {
		t.Errorf("planned %v", planned)
	}
}

func TestQ38OfDuplicateChildrenTheLastCounts(t *testing.T) {
	const (
		first        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {value: "1"}}`
		second       = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop}}, data: {value: "2"}}`
		third        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {value: "3"}}`
		other        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}}`
		oneTwice     = "the hook lists ConfigMap default/a more than once, and the server uses the last one; list it once"
		severalTwice = "the hook lists children more than once, and the server uses the last one of each; list each once: Deployment default/a, ConfigMap default/a"
		another      = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {app: shop}}}`
	)
	tests := map[string]struct {
		answer  []string
		warning string
		creates []string
	}{
		"none":                                     {[]string{first, other, another}, "", []string{"create ConfigMap default/a", "create ConfigMap default/b", "create Deployment default/a"}},
		"the same twice":                           {[]string{first, other, first}, oneTwice, []string{"create ConfigMap default/a", "create ConfigMap default/b"}},
		"one of them names its namespace":          {[]string{first, second}, oneTwice, []string{"create ConfigMap default/a"}},
		"one of three is told once":                {[]string{second, first, third}, oneTwice, []string{"create ConfigMap default/a"}},
		"each of several is told":                  {[]string{first, another, another, third}, severalTwice, []string{"create ConfigMap default/a", "create Deployment default/a"}},
		"another name and another type are others": {[]string{other, another}, "", []string{"create ConfigMap default/b", "create Deployment default/a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps, deployments)
			planned := w.plan(w.answer(test.answer...))
			var want []pipeline.Warning
			if test.warning != "" {
				want = []pipeline.Warning{{Reason: v1alpha1.ReasonDuplicateChild, Message: test.warning}}
			}
			if diff := cmp.Diff(want, planned.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if len(planned.Refused) > 0 {
				t.Errorf("refused: %v", planned.Refused)
			}
			if diff := cmp.Diff(test.creates, steps(planned)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("its content", func(t *testing.T) {
		w := newWorld(t, web, configMaps)
		planned := w.plan(w.answer(first, third))
		if got := string(parseJSON(t, planned.Steps[0].Body).Lookup("data", "value")); got != `"3"` {
			t.Errorf("it holds %s", got)
		}
	})
}

func TestQ38StrictlyReadDuplicateChildrenAreAnError(t *testing.T) {
	w := newWorld(t, web, configMaps)
	response := w.answer(
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`)
	response.Status, response.Strict = []byte(`{"ready":true}`), true
	planned := w.plan(response)
	want := []string{"the hook lists ConfigMap default/a more than once: no child and no status was written; " +
		"list each child once, or set responseUnMarshallMode of the webhook to loose to use the last one"}
	if diff := cmp.Diff(want, refusals(planned)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if len(planned.Steps) > 0 || len(planned.Warnings) > 0 {
		t.Errorf("steps %v and warnings %v", steps(planned), planned.Warnings)
	}
}
