// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

const notRead = `, which is not read, because the hook protocol has no such field`

func TestWarningsAboutAnAnswer(t *testing.T) {
	type want []pipeline.Warning
	one := func(text string) want { return want{{Reason: pipeline.UnknownAnswerField, Message: text}} }
	const field = "The answer of the sync hook (http://hook) has the field "
	deletes := func(path, advice string) pipeline.Warning {
		return pipeline.Warning{
			Reason: pipeline.ChildrenDeleted, EachTime: true, About: field + path + notRead + ": " + advice,
			Message: `All children of this object are deleted (Pod a), because the answer of the sync hook (http://hook) has no field "children". ` +
				`It has the field ` + path + `, which is not read: ` + advice +
				` Hooks of version v2, or with responseUnMarshallMode: strict, refuse such an answer and delete nothing.`,
		}
	}
	allDeleted := deletes(`"Children"`, `did you mean "children"?`)
	for name, test := range map[string]struct {
		answer string
		change func(*pipeline.Snapshot)
		want   want
	}{
		"none":                     {answer: `{"children":[],"status":{}}`},
		"a field like another":     {answer: `{"children":[],"resyncAfter":5}`, want: one(field + `"resyncAfter"` + notRead + `: did you mean "resyncAfterSeconds"?`)},
		"a field of its own":       {answer: `{"children":[],"comment":"x"}`, want: one(field + `"comment"` + notRead + `: leave it out.`)},
		"the children are missing": {answer: `{"Children":[]}`, want: want{allDeleted}},
		"that one comes first":     {answer: `{"A":[],"Children":[]}`, want: append(want{allDeleted}, one(field+`"A"`+notRead+`: leave it out.`)...)},
		"they are inside of another field": {
			answer: `{"response":{"children":[]}}`,
			want:   want{deletes(`"response"`, `children must be at the top of the answer, not inside of this field.`)},
		},
		"the same field twice":             {answer: `{"children":[],"A":1,"A":2}`, want: one(field + `"A"` + notRead + `: leave it out.`)},
		"the children are there, too":      {answer: `{"children":[],"Children":[]}`, want: one(field + `"Children"` + notRead + `: did you mean "children"?`)},
		"children that are null are there": {answer: `{"children":null,"Children":[]}`, want: one(field + `"Children"` + notRead + `: did you mean "children"?`)},
		"there are none to delete": {
			answer: `{"Children":[]}`, change: func(s *pipeline.Snapshot) { s.Children[0].Claimed = nil },
			want: one(field + `"Children"` + notRead + `: did you mean "children"?`),
		},
		"all are being deleted": {
			answer: `{"Children":[]}`, change: func(s *pipeline.Snapshot) { s.Children[0].Claimed[0].DeletionTimestamp = &metav1.Time{} },
			want: one(field + `"Children"` + notRead + `: did you mean "children"?`),
		},
		"they are left alone": {
			answer: `{"Children":[]}`, change: func(s *pipeline.Snapshot) { s.Managed = false },
			want: one(field + `"Children"` + notRead + `: did you mean "children"?`),
		},
		"about an earlier version of the parent": {
			answer: `{"Children":[]}`, change: func(s *pipeline.Snapshot) { s.Present = s.Parent },
			want: one(field + `"Children"` + notRead + `: did you mean "children"?`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			about := snapshot(t)
			about.Managed = true
			about.Children = []pipeline.Group{{Claimed: []*object.Object{parsed(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`)}}}
			if test.change != nil {
				test.change(about)
			}
			address := serve(t, answer(200, test.answer))
			response, err := ofMode(t, Sync, address, v1alpha1.HookVersionV1, "").SyncComposite(t.Context(), about)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]pipeline.Warning(test.want), shown(response.Warnings, address)); diff != "" {
				t.Errorf("the warnings differ (-want +got):\n%s", diff)
			}
		})
	}
}

// shown returns warnings about a hook as if it had the address http://hook.
func shown(warnings []pipeline.Warning, address string) []pipeline.Warning {
	for i := range warnings {
		warnings[i].Message = strings.ReplaceAll(warnings[i].Message, address, "http://hook")
		warnings[i].About = strings.ReplaceAll(warnings[i].About, address, "http://hook")
	}
	return warnings
}

func TestAnAnswerOfManyUnknownFieldsHasFewWarnings(t *testing.T) {
	address := serve(t, answer(200, `{"i":1,"h":1,"g":1,"f":1,"e":1,"d":1,"c":1,"b":1,"a":1}`))
	response, err := ofMode(t, Sync, address, v1alpha1.HookVersionV1, "").SyncDecorator(t.Context(), snapshot(t))
	if err != nil || len(response.Warnings) != maxWarnings || !strings.Contains(response.Warnings[0].Message, `"a"`) {
		t.Errorf("error %v, response %+v", err, response)
	}
}

func TestWarningsAboutTheAnswerOfACustomizeHook(t *testing.T) {
	address := serve(t, answer(200, `{"relatedResources":[{"apiVersion":"v1","resource":"pods","labelSelecter":{}}]}`))
	rules, warnings, err := ofMode(t, Customize, address, v1alpha1.HookVersionV1, "").Customize(t.Context(), snapshot(t))
	want := []pipeline.Warning{{Reason: pipeline.UnknownAnswerField, Message: `The answer of the customize hook (http://hook) has the field ` +
		`"relatedResources[0].labelSelecter"` + notRead + `: did you mean "labelSelector"?`}}
	if diff := cmp.Diff(want, shown(warnings, address)); diff != "" || err != nil || len(rules) != 1 {
		t.Errorf("error %v, rules %v, the warnings differ (-want +got):\n%s", err, rules, diff)
	}
}
