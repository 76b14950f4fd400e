// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// updating is the condition of the world of this test, which came to be at some time.
func updating(since string) string {
	return `{"type":"Updated","status":"False","lastTransitionTime":"` + since + `","reason":"RolloutProgressing","message":"updating Pod a"}`
}

const today = "2026-03-04T12:00:00Z"

// checkStatus has a hook answer a status, for a parent that has one.
func checkStatus(t *testing.T, observed, answered, want, wantErr string) {
	t.Helper()
	w := newWorld(t, "v2", "Pod a")
	w.setParent(`{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid},
		spec: {version: v2, children: [Pod a]}, status: ` + observed + `}`)
	w.has("Pod a v1")
	w.remembers("v1: Pod a")
	opened := w.open()
	responses := w.ask(opened)
	responses[0].Status = nil
	if answered != "" {
		responses[0].Status = []byte(answered)
	}
	decision, err := opened.Decide(responses, isUpToDate, noon)
	wantError(t, err, wantErr)
	if err == nil && string(decision.Response.Status) != want {
		t.Errorf("status is\n%s, want\n%s", decision.Response.Status, want)
	}
}

func TestTheConditionIsPutIntoTheHooksStatus(t *testing.T) {
	tests := map[string]struct{ answered, want, err string }{
		"that has no conditions":       {answered: `{"b":1.50,"a":2}`, want: `{"b":1.50,"a":2,"conditions":[` + updating(today) + `]}`},
		"that has null for conditions": {answered: `{"conditions":null}`, want: `{"conditions":[` + updating(today) + `]}`},
		"behind others":                {answered: `{"conditions":[{"type":"A","x":1}, {"type":"B"}]}`, want: `{"conditions":[{"type":"A","x":1},{"type":"B"},` + updating(today) + `]}`},
		"whose conditions are no list": {answered: `{"conditions":{"Updated":true}}`, err: "status.conditions of the hook's answer about Web default/shop must be a list, to hold the condition Updated"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { checkStatus(t, "{}", test.answered, test.want, test.err) })
	}
}

func TestQ3AMissingStatusBecomesOneWithTheCondition(t *testing.T) {
	checkStatus(t, "{}", "", `{"conditions":[`+updating(today)+`]}`, "")
}

func TestQ3AMissingStatusWithAnotherWriterStaysMissing(t *testing.T) {
	w := newWorld(t, "v2", "Pod a")
	w.snapshot.ForeignStatus = true
	w.hook = func(parent *object.Object) *pipeline.Response {
		response := w.listed(parent)
		response.Status = nil
		return response
	}
	if status := w.decide().Response.Status; status != nil {
		t.Errorf("status is %s", status)
	}
}

func TestQ16AnExistingConditionIsRefreshed(t *testing.T) {
	tests := map[string]struct{ observed, answered, want string }{
		"in its place": {
			answered: `{"conditions":[{"type":"A"},{"type":"Updated","status":"True","extra":1},{"type":"B"}]}`,
			want:     `{"conditions":[{"type":"A"},` + updating(today) + `,{"type":"B"}]}`,
		},
		"once, if there are two": {
			answered: `{"conditions":[{"type":"Updated"},{"type":"Updated"}]}`,
			want:     `{"conditions":[` + updating(today) + `]}`,
		},
		"with the time from which the parent has had the status": {
			observed: `{conditions: [{type: Updated, status: "False", reason: RolloutWaiting, lastTransitionTime: "2026-03-01T00:00:00Z"}]}`,
			answered: `{"conditions":[{"type":"Updated","status":"True","lastTransitionTime":"2020-01-01T00:00:00Z"}]}`,
			want:     `{"conditions":[` + updating("2026-03-01T00:00:00Z") + `]}`,
		},
		"with the present time if the parent has another status": {
			observed: `{conditions: [{type: Updated, status: "True", lastTransitionTime: "2026-03-01T00:00:00Z"}]}`,
			answered: `{"conditions":[{"type":"Updated","status":"False","lastTransitionTime":"2020-01-01T00:00:00Z"}]}`,
			want:     `{"conditions":[` + updating(today) + `]}`,
		},
		"without a time if the parent's has none: its schema drops the time, or the original wrote it": {
			observed: `{conditions: [{type: Updated, status: "False", reason: RolloutWaiting}]}`,
			answered: `{}`,
			want:     `{"conditions":[{"type":"Updated","status":"False","reason":"RolloutProgressing","message":"updating Pod a"}]}`,
		},
		"with the present time if that of the parent cannot be read": {
			observed: `{conditions: [{type: Updated, status: "False", lastTransitionTime: yesterday}]}`,
			answered: `{}`,
			want:     `{"conditions":[` + updating(today) + `]}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			observed := test.observed
			if observed == "" {
				observed = "{}"
			}
			checkStatus(t, observed, test.answered, test.want, "")
		})
	}
}

// The schema of a parent may drop all conditions. The time must not move with each sync then.
func TestTheTimeOfAConditionThatIsNotStoredStays(t *testing.T) {
	w := newWorld(t, "v2", "Pod a")
	w.has("Pod a v1")
	w.remembers("v1: Pod a")
	decideAt := func(at time.Time) metav1.Time {
		t.Helper()
		opened := w.open()
		decision, err := opened.Decide(w.ask(opened), isUpToDate, at)
		if err != nil {
			t.Fatal(err)
		}
		return decision.Updated.LastTransitionTime
	}
	later, latest := noon.Add(time.Hour), noon.Add(2*time.Hour)
	if first, second := decideAt(noon), decideAt(later); !first.Time.Equal(noon) || !second.Time.Equal(noon) {
		t.Errorf("the times are %s and %s, want the first to stay", first, second)
	}
	w.stored = nil
	w.remembers("v2: Pod a") // now it is at the latest revision
	w.snapshot.Children[0].Claimed = nil
	w.has("Pod a v2")
	if third := decideAt(latest); !third.Time.Equal(latest) {
		t.Errorf("after a change of the status the time is %s", third)
	}
	replaced := *w.snapshot.Parent
	replaced.UID = "another"
	w.snapshot.Parent = &replaced
	if fourth := decideAt(latest.Add(time.Hour)); !fourth.Time.Equal(latest.Add(time.Hour)) {
		t.Errorf("of another parent of the name the time is %s", fourth)
	}
}

// webSchema is the schema of a Web whose status has these properties, in JSON.
func webSchema(t *testing.T, status string) *openapi.Type {
	t.Helper()
	of := schema.GroupVersionKind{Group: "ctl.example", Version: "v1", Kind: "Web"}
	types, err := openapi.Read(fmt.Appendf(nil, `{"components":{"schemas":{"Web":{"properties":{"status":{"properties":{%s}}},
		"x-kubernetes-group-version-kind":[{"group":"ctl.example","version":"v1","kind":"Web"}]}}}}`, status),
		func(schema.GroupVersionKind) reflect.Type { return nil }, of)
	if err != nil {
		t.Fatal(err)
	}
	return types[of]
}

func TestAConditionThatTheHostDropsIsWarnedOf(t *testing.T) {
	const conditions, item = `"conditions":{"items":{"properties":{%s}}}`, `"type":{},"status":{},"reason":{},"message":{}`
	tests := map[string]struct {
		schema *openapi.Type
		want   []string
	}{
		"a parent whose schema is not known": {nil, nil},
		"a schema with the condition":        {webSchema(t, fmt.Sprintf(conditions, item+`,"lastTransitionTime":{}`)), nil},
		"a schema without the time": {webSchema(t, fmt.Sprintf(conditions, item)), []string{
			"Web default/shop: the cluster does not know the field status.conditions[].lastTransitionTime and drops it, " +
				"so the condition Updated, which shows how far a rollout is, has no lastTransitionTime; add it to the schema in the CustomResourceDefinition"}},
		"a schema without conditions": {webSchema(t, `"ready":{}`), []string{
			"Web default/shop: the cluster does not know the field status.conditions and drops it, " +
				"so the condition Updated does not show how far a rollout is; add it to the schema in the CustomResourceDefinition"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "v2", "Pod a")
			w.snapshot.ParentType.Group, w.snapshot.ParentType.Kind = "ctl.example", "Web"
			w.snapshot.ParentSchema = test.schema
			for range 2 {
				var got []string
				for _, warning := range w.decide().Response.Warnings {
					got = append(got, warning.Message)
					if warning.Reason != v1alpha1.ReasonUnknownField || warning.About == "" {
						t.Errorf("the warning is %+v", warning)
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			}
		})
	}
}
