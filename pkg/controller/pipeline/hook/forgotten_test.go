// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// A hook that forgets its return statement, or the children, costs no children if it is read strictly.
func TestAForgottenAnswerIsAnError(t *testing.T) {
	const (
		null    = `it is null, as if a return statement were missing in the hook; to ask for nothing, answer `
		missing = `it has no field "FIELD", and FIELD of this object exist (Pod default/a); list those that are to stay, ` +
			`or answer "FIELD": [] to have all of them deleted (with version: v2, the field must be there)`
	)
	finalizing := func(s *pipeline.Snapshot) { s.Finalizing = true }
	deleted := func(s *pipeline.Snapshot) { s.Children[0].Claimed[0].DeletionTimestamp = &metav1.Time{} }
	past := func(s *pipeline.Snapshot) { s.Present = s.Parent }
	none := func(s *pipeline.Snapshot) { s.Children[0].Claimed = nil }
	for name, test := range map[string]struct {
		answer string
		change func(*pipeline.Snapshot)
		mode   v1alpha1.ResponseUnmarshallMode
		want   string
	}{
		"null":                              {answer: " null\n", want: null + `{"FIELD": []}`},
		"null, without children":            {answer: "null", change: none, want: null},
		"null, to finalize":                 {answer: "null", change: finalizing, want: null},
		"null that is read loosely":         {answer: "null", mode: v1alpha1.ResponseUnmarshallModeLoose},
		"only a status":                     {answer: `{"status":{}}`, want: missing},
		"an empty object":                   {answer: `{}`, want: missing},
		"only a status, without children":   {answer: `{"status":{}}`, change: none},
		"only a status, read loosely":       {answer: `{"status":{}}`, mode: v1alpha1.ResponseUnmarshallModeLoose},
		"only that it has finalized":        {answer: `{"finalized":true}`, change: finalizing},
		"no children":                       {answer: `{"FIELD":[]}`},
		"children that are null":            {answer: `{"FIELD":null}`},
		"a misspelt field":                  {answer: `{"FIELDs":[]}`, want: `did you mean "FIELD"?`},
		"children that are being deleted":   {answer: `{}`, change: deleted},
		"children that are left alone":      {answer: `{}`, change: func(s *pipeline.Snapshot) { s.Managed = false }},
		"children of the parent's past":     {answer: `{}`, change: past},
		"null about the parent in the past": {answer: `null`, change: past, want: null},
	} {
		for _, field := range []string{"children", "attachments"} {
			t.Run(name+", "+field, func(t *testing.T) {
				about := snapshot(t)
				about.Managed = true
				pod := parsed(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default"}}`)
				about.Children = []pipeline.Group{{Claimed: []*object.Object{pod}}}
				if test.change != nil {
					test.change(about)
				}
				address := serve(t, answer(200, strings.ReplaceAll(test.answer, "FIELD", field)))
				made := ofMode(t, Sync, address, v1alpha1.HookVersionV2, test.mode)
				call := made.SyncComposite
				if field == "attachments" {
					call = made.SyncDecorator
				}
				_, err := call(t.Context(), about)
				checkForgotten(t, err, strings.ReplaceAll(test.want, "FIELD", field))
			})
		}
	}
	t.Run("null of a customize hook", func(t *testing.T) {
		address := serve(t, answer(200, "null"))
		_, _, err := ofMode(t, Customize, address, v1alpha1.HookVersionV2, "").Customize(t.Context(), snapshot(t))
		checkForgotten(t, err, null+`{"relatedResources": []}`)
	})
}

// checkForgotten checks an error; none is wanted if want is empty.
func checkForgotten(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (!errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), want)) {
		t.Errorf("the error is\n%v\nwant\n%s", err, want)
	}
}
