// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

const (
	shopping = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid, generation: 3, resourceVersion: "5"%s}, spec: {x: 1}%s}`
	ourHold  = `, finalizers: [metacontroller.io/decoratorcontroller-deco, other/one]`
	ofDeco   = `annotations: {metacontroller.k8s.io/decorator-controller: deco}`
	attachA  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, ` + ofDeco + `}, data: {key: one}}`
	attachB  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, ` + ofDeco + `}}`
)

// targetWith is a target with more metadata and more fields.
func targetWith(metadata, fields string) string {
	return strings.NewReplacer(`"5"%s`, `"5"`+metadata, `}%s}`, `}`+fields+`}`).Replace(shopping)
}

func TestTargetIsWrittenInAsFewRequestsAsThereCanBe(t *testing.T) {
	const labelled = `, labels: {a: "1", b: "2"}, annotations: {note: "1"}`
	tests := map[string]struct {
		metadata, fields    string
		labels, annotations map[string]*string
		status              string
		finalized           bool
		subresource, plain  []string // the writes of a type with, and of one without status subresource
		why                 string   // of the last write
	}{
		"nothing":                             {metadata: labelled},
		"what there is":                       {metadata: labelled, fields: `, status: {x: 1}`, labels: changes("a", "1"), annotations: changes("note", "1", "m", "-"), status: `{"x":1.0}`},
		"a label that is gone":                {metadata: labelled, labels: changes("c", "-")},
		"a label that is not there":           {labels: changes("a", "1"), subresource: []string{"metadata"}, plain: []string{"metadata"}, why: "it differs at metadata.labels[a]"},
		"a label that differs":                {metadata: labelled, labels: changes("a", "1", "b", "3"), subresource: []string{"metadata"}, plain: []string{"metadata"}, why: "it differs at metadata.labels[b]"},
		"a label to take away":                {metadata: labelled, labels: changes("a", "-"), subresource: []string{"metadata"}, plain: []string{"metadata"}, why: "it differs at metadata.labels[a]"},
		"an empty label":                      {metadata: labelled, labels: changes("c", ""), subresource: []string{"metadata"}, plain: []string{"metadata"}, why: "it differs at metadata.labels[c]"},
		"an annotation that differs":          {metadata: labelled, annotations: changes("note", "2"), subresource: []string{"metadata"}, plain: []string{"metadata"}, why: "it differs at metadata.annotations[note]"},
		"labels and annotations":              {labels: changes("a", "1"), annotations: changes("note", "2"), subresource: []string{"metadata"}, plain: []string{"metadata"}, why: "it differs at metadata.labels[a]"},
		"a status":                            {status: `{"x":1}`, subresource: []string{"status"}, plain: []string{"metadata"}, why: "it differs at status.x"},
		"a status and a label":                {status: `{"x":1}`, labels: changes("a", "1"), subresource: []string{"status", "metadata"}, plain: []string{"metadata"}},
		"no status":                           {fields: `, status: {x: 1}`},
		"an empty status":                     {fields: `, status: {x: 1}`, status: `{}`, subresource: []string{"status"}, plain: []string{"metadata"}, why: "it differs at status.x"},
		"an empty status where there is none": {status: `{}`, subresource: []string{"status"}, plain: []string{"metadata"}, why: "it differs at status"},
		"an empty status where there is one":  {fields: `, status: {}`, status: `{}`},
		"the finalizer":                       {metadata: `, labels: {out: "1"}` + ourHold, finalized: true, subresource: []string{"finalizer"}, plain: []string{"finalizer"}, why: "the finalize hook has nothing left to do"},
		"the finalizer and a label":           {metadata: `, labels: {out: "1"}` + ourHold, labels: changes("out", "-"), finalized: true, subresource: []string{"finalizer"}, plain: []string{"finalizer"}, why: "the finalize hook has nothing left to do"},
		"everything": {metadata: `, labels: {out: "1"}` + ourHold, labels: changes("out", "-"), annotations: changes("note", "1"), status: `{"x":1}`, finalized: true,
			subresource: []string{"status", "finalizer"}, plain: []string{"finalizer"}, why: "the finalize hook has nothing left to do"},
		"everything of one that is being deleted": {metadata: `, deletionTimestamp: "2026-03-04T05:06:07Z"` + ourHold, labels: changes("a", "1"), status: `{"x":1}`, finalized: true,
			subresource: []string{"status", "metadata"}, plain: []string{"metadata"}, why: "the finalize hook has nothing left to do"},
		"what holds one that is being deleted": {metadata: `, deletionTimestamp: "2026-03-04T05:06:07Z"` + ourHold, labels: changes("a", "1"),
			subresource: []string{"metadata"}, plain: []string{"metadata"}, why: "it differs at metadata.labels[a]"},
		"the finalizer of others":                          {metadata: `, deletionTimestamp: "2026-03-04T05:06:07Z", finalizers: [other/one]`, finalized: true},
		"finalized, in answer to nothing that asks for it": {metadata: ourHold, finalized: true},
	}
	for name, test := range tests {
		for kind, want := range map[string][]string{"with a subresource": test.subresource, "without one": test.plain} {
			t.Run(name+", "+kind, func(t *testing.T) {
				w := newTarget(t, targetWith(test.metadata, test.fields)).withSubresource(kind == "with a subresource")
				response := &pipeline.Response{Labels: test.labels, Annotations: test.annotations, Finalized: test.finalized}
				if test.status != "" {
					response.Status = []byte(test.status)
				}
				planned := w.plan(response)
				var ops []string
				for _, step := range planned.Steps {
					ops = append(ops, string(step.Op))
					if step.Type != w.parentType || step.Observed != w.parent || step.Namespace != "default" || step.Name != "shop" {
						t.Errorf("step is %+v", step)
					}
				}
				if diff := cmp.Diff(want, ops); diff != "" {
					t.Fatalf("writes (-want +got):\n%s", diff)
				}
				if !planned.ParentFirst {
					t.Error("the target does not come first")
				}
				if test.why != "" && planned.Steps[len(ops)-1].Why != test.why {
					t.Errorf("why is %q, want %q", planned.Steps[len(ops)-1].Why, test.why)
				}
				w.carryOut(planned)
				if left := writes(w.plan(response)); len(left) > 0 {
					t.Errorf("the next sync writes %v", left)
				}
			})
		}
	}
}

// What does not change is sent back byte for byte, with the resource version at which it was seen,
// so that a write of others in between is never undone.
func TestWhatIsSentOfATarget(t *testing.T) {
	const observed = `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","n":"\u0031"},"labels":{"a": "1","b":"2"},` +
		`"finalizers":["metacontroller.io/decoratorcontroller-deco","other/one"],"resourceVersion":"5","uid":"u","managedFields":[{"manager":"x"}]},"spec":{"big":12345678901234567890,"x":1.50},"status":{"old":1}}`
	yes := `x`
	tests := map[string]struct {
		response pipeline.Response
		letGo    bool
		want     string
	}{
		"labels and annotations": {
			response: pipeline.Response{Labels: changes("a", "-", "d", "4", "c", `"`), Annotations: map[string]*string{"m": &yes}},
			want: `{"apiVersion":"ctl.example/v1","kind":"Web","spec":{"big":12345678901234567890,"x":1.50},"status":{"old":1},"metadata":{"name":"shop",` +
				`"finalizers":["metacontroller.io/decoratorcontroller-deco","other/one"],"resourceVersion":"5","uid":"u",` +
				`"labels":{"b":"2","c":"\"","d":"4"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","n":"\u0031","m":"x"}}}`,
		},
		"with a status and without the finalizer": {
			response: pipeline.Response{Labels: changes("a", "-"), Status: []byte(`{"new": 1.50}`)}, letGo: true,
			want: `{"apiVersion":"ctl.example/v1","kind":"Web","spec":{"big":12345678901234567890,"x":1.50},"status":{"new":1.5},"metadata":{"name":"shop",` +
				`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","n":"\u0031"},"resourceVersion":"5","uid":"u",` +
				`"labels":{"b":"2"},"finalizers":["other/one"]}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newTarget(t, web)
			w.parent = parseJSON(t, []byte(observed))
			snapshot := w.snapshot()
			snapshot.Finalizing, test.response.Finalized = test.letGo, test.letGo
			planned, err := Decorator(snapshot, &test.response, nil, &w.upToDate)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(stepFor(t, planned, "shop").Body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQ18NoStatusIsEverNull(t *testing.T) {
	for _, fields := range []string{"", ", status: null"} {
		for _, status := range []string{"", "{}", `{"a":1}`} {
			for _, subresource := range []bool{false, true} {
				w := newTarget(t, targetWith("", fields)).withSubresource(subresource)
				response := answering(status)
				response.Labels = changes("a", "1")
				planned := w.plan(response)
				if len(planned.Steps) == 0 {
					t.Error("nothing is written")
				}
				for _, step := range planned.Steps {
					if string(object.Lookup(step.Body, "status")) == "null" {
						t.Errorf("%s sends %s", step.Op, step.Body)
					}
				}
			}
		}
	}
}

func TestQ31NoStatusKeepsThatOfATarget(t *testing.T) {
	w := newTarget(t, targetWith("", ", status: {theirs: 1}"))
	planned := w.plan(&pipeline.Response{Labels: changes("a", "1")})
	if got := string(object.Lookup(stepFor(t, planned, "shop").Body, "status")); got != `{"theirs":1}` {
		t.Errorf("the status becomes %s", got)
	}
}

// A status has no generation put in, and that of a built-in type is written when the hook
// answers one. It keeps the fields that its own controller writes.
func TestTheStatusOfATargetIsWhatTheHookAnswers(t *testing.T) {
	for foreign, want := range map[bool]string{
		false: `{"ready":true}`, true: `{"observedGeneration":2,"ready":true,"theirs":1}`,
	} {
		w := newTarget(t, targetWith("", ", status: {observedGeneration: 2, theirs: 1}"))
		snapshot := w.snapshot()
		snapshot.ForeignStatus = foreign
		planned, err := Decorator(snapshot, answering(`{"ready":true}`), nil, &w.upToDate)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(object.Lookup(stepFor(t, planned, "shop").Body, "status")); got != want {
			t.Errorf("the status becomes %s, want %s", got, want)
		}
	}
}

func TestAStatusOfATargetThatCannotBeRead(t *testing.T) {
	w := newTarget(t, targetWith("", ""))
	if planned, err := Decorator(w.snapshot(), answering(`{"a":1e999}`), nil, &w.upToDate); err == nil || !strings.HasPrefix(err.Error(), "status of Web default/shop: ") {
		t.Errorf("error is %v, plan is %v", err, planned)
	}
}

// The host and its admission webhooks may make something else of what is written. Writing
// again would not help: the next write follows only a change of the target.
func TestATargetThatTheHostStoresOtherwiseIsWrittenOnce(t *testing.T) {
	for _, subresource := range []bool{false, true} {
		w := newTarget(t, targetWith(`, labels: {a: "0"}`, "")).withSubresource(subresource)
		w.defaults = func(content map[string]any) {
			content["metadata"].(map[string]any)["labels"] = map[string]any{"a": "normalized"}
			delete(content, "status")
		}
		response := answering(`{"unknown":1}`)
		response.Labels = changes("a", "1", "b", "2")
		w.carryOut(w.plan(response))
		if got := writes(w.plan(response)); len(got) > 0 {
			t.Errorf("the second sync writes %v", got)
		}
		other := answering(`{"unknown":1}`)
		other.Labels = changes("a", "2")
		if diff := cmp.Diff([]string{"metadata Web default/shop"}, writes(w.plan(other))); diff != "" {
			t.Errorf("a sync with other labels (-want +got):\n%s", diff)
		}
		if got := writes(w.plan(answering(`{"unknown":2}`))); len(got) != 1 {
			t.Errorf("a sync with another status writes %v", got)
		}
		other = answering(`{"unknown":2}`)
		other.Labels = response.Labels
		if got := writes(w.plan(other)); len(got) != 1 {
			t.Errorf("a sync with the same labels and another status writes %v", got)
		}
		w.defaults = func(map[string]any) {}
		as := w.parent
		wiped := decode(t, as)
		wiped["status"] = map[string]any{"theirs": int64(1)}
		w.parent = w.storedBy("others", wiped, as.UID)
		if got := writes(w.plan(response)); len(got) != 1 {
			t.Errorf("a sync after a change of the status writes %v", got)
		}
		w.parent = as
		changed := decode(t, w.parent)
		changed["spec"] = map[string]any{"x": "changed"}
		w.parent = w.storedBy("others", changed, w.parent.UID)
		if got := writes(w.plan(response)); len(got) > 0 {
			t.Errorf("a sync after a change of the spec writes %v", got)
		}
		changed["metadata"].(map[string]any)["labels"] = map[string]any{"a": "theirs"}
		w.parent = w.storedBy("others", changed, w.parent.UID)
		if diff := cmp.Diff([]string{"metadata Web default/shop"}, writes(w.plan(response))); diff != "" {
			t.Errorf("a sync after a change of the labels (-want +got):\n%s", diff)
		}
	}
}

// A label does not count as up to date because the status was written and the label not.
func TestALabelThatWasOvertakenIsWrittenAgain(t *testing.T) {
	w := newTarget(t, targetWith("", "")).withSubresource(true)
	response := answering(`{"x":1}`)
	response.Labels = changes("a", "1")
	planned := w.plan(response)
	planned.Steps = planned.Steps[:1] // the status
	w.carryOut(planned)
	if diff := cmp.Diff([]string{"metadata Web default/shop"}, writes(w.plan(response))); diff != "" {
		t.Errorf("the next sync (-want +got):\n%s", diff)
	}
}

// Some annotations are kept in an object's bytes alone.
func TestALargeAnnotationOfATargetIsComparedToo(t *testing.T) {
	for _, name := range []string{"kubectl.kubernetes.io/last-applied-configuration", object.LastAppliedAnnotation} {
		w := newTarget(t, targetWith(`, annotations: {`+name+`: "{}"}`, ""))
		for value, want := range map[string]int{"{}": 0, "{ }": 1, "-": 1} {
			if got := writes(w.plan(&pipeline.Response{Annotations: changes(name, value)})); len(got) != want {
				t.Errorf("%s as %q: writes %v", name, value, got)
			}
		}
	}
}

// A quiet sync looks at what the hook answered, not at what is in the target.
func TestAQuietSyncOfATargetDecodesNothing(t *testing.T) {
	allocations := func(items int) int {
		w := newTarget(t, targetWith(`, labels: {a: "1"}, annotations: {note: "1"}`, `, data: [`+strings.Repeat(`{a: b}, `, items)+`], status: {x: 1}`))
		snapshot, response := w.snapshot(), answering(`{"x":1}`)
		response.Labels, response.Annotations = changes("a", "1"), changes("note", "1")
		plan := func() {
			if planned, err := Decorator(snapshot, response, nil, &w.upToDate); err != nil || len(planned.Steps) > 0 {
				t.Fatal(planned, err)
			}
		}
		plan()
		return alloctest.Least(plan)
	}
	small, large := allocations(1), allocations(500)
	if large > small {
		t.Errorf("a large target takes %d allocations, a small one %d", large, small)
	}
}
