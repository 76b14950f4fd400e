// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// ofMode is a hook of a version that is read in a mode, which may be empty.
func ofMode(t *testing.T, name, url string, version v1alpha1.HookVersion, mode v1alpha1.ResponseUnmarshallMode) *Webhook {
	t.Helper()
	spec := &v1alpha1.Hook{Version: &version, Webhook: &v1alpha1.Webhook{URL: &url}}
	if mode != "" {
		spec.Webhook.ResponseUnmarshallMode = &mode
	}
	made, err := New(name, spec, nil, Options{Limits: Limits{MaxResponseBytes: limit}, Deletable: plan.Deletable})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func TestHowStrictlyAnswersAreRead(t *testing.T) {
	const v1, v2, loose, strict = v1alpha1.HookVersionV1, v1alpha1.HookVersionV2, v1alpha1.ResponseUnmarshallModeLoose, v1alpha1.ResponseUnmarshallModeStrict
	for name, test := range map[string]struct {
		version v1alpha1.HookVersion
		mode    v1alpha1.ResponseUnmarshallMode
		strict  string // what in the spec makes it strict; empty if it is loose
	}{
		"v1 is loose":             {v1, "", ""},
		"v2 is strict":            {v2, "", "version: v2"},
		"v1 that asks for loose":  {v1, loose, ""},
		"v1 that asks for strict": {v1, strict, "responseUnMarshallMode: strict"},
		"v2 that asks for loose":  {v2, loose, ""},
		"v2 that asks for strict": {v2, strict, "version: v2"},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, answer(200, `{"status":{"a":1},"comment":"hello"}`))
			response, err := ofMode(t, Sync, address, test.version, test.mode).SyncComposite(t.Context(), snapshot(t))
			if test.strict == "" {
				if err != nil || string(response.Status) != `{"a":1}` || response.Strict {
					t.Errorf("response %+v with error %v", response, err)
				}
				return
			}
			want := "sync hook failed: " + address + `: the hook's answer cannot be read: unknown field "comment" (leave it out); with ` + test.strict +
				", unknown and duplicate fields are errors"
			if response != nil || err == nil || err.Error() != want || !errors.Is(err, ErrMalformed) {
				t.Errorf("response %v with error\n%v\nwant\n%s", response, err, want)
			}
		})
	}
	t.Run("the plan is told", func(t *testing.T) {
		response, err := ofMode(t, Sync, serve(t, answer(200, `{}`)), v2, "").SyncComposite(t.Context(), snapshot(t))
		if err != nil || !response.Strict {
			t.Errorf("response %+v with error %v", response, err)
		}
	})
}

func TestWhatStrictReadersObjectToInRules(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"an unknown field":           {`{"related":[]}`, `unknown field "related" (did you mean "relatedResources"?)`},
		"one in a rule":              {`{"relatedResources":[{"apiVersion":"v1","resource":"pods"},{"apiVersion":"v1","resource":"pods","Names":["a"]}]}`, `unknown field "relatedResources[1].Names" (did you mean "names"?)`},
		"one in a selector":          {`{"relatedResources":[{"apiVersion":"v1","resource":"pods","labelSelector":{"labels":{}}}]}`, `unknown field "relatedResources[0].labelSelector.labels" (did you mean "matchLabels"?)`},
		"a name twice in a rule":     {`{"relatedResources":[{"apiVersion":"v1","resource":"pods","resource":"pods"}]}`, `duplicate field "relatedResources[0].resource"`},
		"a name twice among labels":  {`{"relatedResources":[{"apiVersion":"v1","resource":"pods","labelSelector":{"matchLabels":{"a":"1","a":"2"}}}]}`, `duplicate field "relatedResources[0].labelSelector.matchLabels.a"`},
		"a name twice in the answer": {`{"relatedResources":[],"relatedResources":null}`, `duplicate field "relatedResources"`},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, answer(200, test.body))
			rules, _, err := ofMode(t, Customize, address, v1alpha1.HookVersionV2, "").Customize(t.Context(), snapshot(t))
			want := "customize hook failed: " + address + ": the hook's answer cannot be read: " + test.want + "; with version: v2, unknown and duplicate fields are errors"
			if rules != nil || err == nil || err.Error() != want {
				t.Errorf("rules %v and error\n%v\nwant\n%s", rules, err, want)
			}
			if _, _, err := ofMode(t, Customize, address, v1alpha1.HookVersionV1, "").Customize(t.Context(), snapshot(t)); err != nil {
				t.Errorf("a loose reader does not overlook it: %v", err)
			}
		})
	}
}

func TestWhatLooseReadersOverlookIsLogged(t *testing.T) {
	address := serve(t, answer(200, `{"chlidren":[],"status":{"a":1,"a":2}}`))
	for verbosity, want := range map[int]string{
		4: `"fields"="[unknown field \"chlidren\" (did you mean \"children\"?), duplicate field \"status.a\"]"`,
		3: "",
	} {
		var logged strings.Builder
		logger := funcr.New(func(_, line string) { logged.WriteString(line + "\n") }, funcr.Options{Verbosity: verbosity})
		if _, err := ofMode(t, Sync, address, v1alpha1.HookVersionV1, "").SyncComposite(klog.NewContext(t.Context(), logger), snapshot(t)); err != nil {
			t.Fatal(err)
		}
		if got := logged.String(); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("at level %d is logged %q, want %q", verbosity, got, want)
		}
	}
}

// listedPod returns a child that the hook has listed, with more metadata.
func listedPod(t *testing.T, more string) *object.Object {
	return parsed(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a",`+more+
		`,"annotations":{"`+object.LastAppliedAnnotation+`":"{\"kind\":\"Pod\"}"}}}`)
}

// A hook that forgets its return statement, or the children, costs no children if it is read strictly.
func TestAForgottenAnswerIsAnError(t *testing.T) {
	const (
		null    = `it is null, as if a return statement were missing in the hook; if nothing should exist, return `
		missing = `it has no field "FIELD", and FIELD of this object exist (Pod default/a); list the ones to keep, ` +
			`or return "FIELD": [] to delete all of them (with version: v2, the field is required)`
	)
	finalizing := func(s *pipeline.Snapshot) { s.Finalizing = true }
	deleted := func(s *pipeline.Snapshot) { s.Children[0].Claimed[0].DeletionTimestamp = &metav1.Time{} }
	past := func(s *pipeline.Snapshot) { s.Present = s.Parent }
	none := func(s *pipeline.Snapshot) { s.Children[0].Claimed = nil }
	adopted := func(s *pipeline.Snapshot) {
		s.Children[0].Claimed[0] = parsed(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default"}}`)
	}
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
		"adopted children":                  {answer: `{}`, change: adopted},
		"children that are left alone":      {answer: `{}`, change: func(s *pipeline.Snapshot) { s.Managed = false }},
		"children of the parent's past":     {answer: `{}`, change: past},
		"null about the parent in the past": {answer: `null`, change: past, want: null},
	} {
		for _, field := range []string{"children", "attachments"} {
			t.Run(name+", "+field, func(t *testing.T) {
				about := snapshot(t)
				about.Managed = true
				pod := listedPod(t, `"namespace":"default"`)
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
	if want == "" && err != nil || want != "" && (!errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), want)) {
		t.Errorf("the error is\n%v\nwant\n%s", err, want)
	}
}

const notRead = `, which the server ignores, because the hook protocol has no such field`

func TestWarningsAboutAnAnswer(t *testing.T) {
	type want []pipeline.Warning
	one := func(text string) want { return want{{Reason: v1alpha1.ReasonUnknownAnswerField, Message: text}} }
	const field = "The answer of the sync hook (http://hook) has the field "
	deletes := func(path, advice string) pipeline.Warning {
		return pipeline.Warning{
			Reason: v1alpha1.ReasonChildrenDeleted, EachTime: true, About: field + path + notRead + ": " + advice,
			Message: `The server deletes all children of this object (Pod a), because the answer of the sync hook (http://hook) has no field "children". ` +
				`The server ignores its field ` + path + `: ` + advice +
				` Hooks of version v2, or with responseUnMarshallMode: strict, reject such an answer and delete nothing.`,
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
			want:   want{deletes(`"response"`, `children must be at the top level of the answer, not inside this field.`)},
		},
		"an exception that the hook answers as JSON with status 200": {
			answer: `{"error":"KeyError: 'size'","status":null}`, want: one(field + `"error"` + notRead + `: leave it out.`),
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
			about.Children = []pipeline.Group{{Claimed: []*object.Object{listedPod(t, `"labels":{}`)}}}
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
	want := []pipeline.Warning{{Reason: v1alpha1.ReasonUnknownAnswerField, Message: `The answer of the customize hook (http://hook) has the field ` +
		`"relatedResources[0].labelSelecter"` + notRead + `: did you mean "labelSelector"?`}}
	if diff := cmp.Diff(want, shown(warnings, address)); diff != "" || err != nil || len(rules) != 1 {
		t.Errorf("error %v, rules %v, the warnings differ (-want +got):\n%s", err, rules, diff)
	}
}

// messages returns a logger that appends its messages at verbosity 0 to lines.
func messages(lines *[]string) klog.Logger {
	return funcr.New(func(_, line string) {
		_, after, _ := strings.Cut(line, `"msg"="`)
		message, _, _ := strings.Cut(after, `"`)
		*lines = append(*lines, message)
	}, funcr.Options{})
}

func TestTheDeveloperModeLogsIgnoredFields(t *testing.T) {
	for name, test := range map[string]struct {
		answer    string
		developer bool
		want      []string
	}{
		"a field that is ignored":      {`{"Children":[]}`, true, []string{"Hook answer has fields that are ignored"}},
		"one without the mode":         {`{"Children":[]}`, false, nil},
		"an answer with nothing wrong": {`{"children":[]}`, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := webhook(t, serve(t, answer(200, test.answer)), "")
			w.developerMode = test.developer
			var lines []string
			if _, err := w.SyncComposite(klog.NewContext(t.Context(), messages(&lines)), snapshot(t)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(lines, test.want) {
				t.Errorf("the log says %q, want %q", lines, test.want)
			}
		})
	}
}

// taking answers after a time.
type taking time.Duration

func (t taking) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(t)) //nolint:forbidigo // in a bubble of testing/synctest, sleeping takes no time
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func TestTheDeveloperModeLogsSlowCalls(t *testing.T) {
	for name, test := range map[string]struct {
		takes     time.Duration
		developer bool
		want      []string
	}{
		"near the timeout":            {6 * time.Second, true, []string{"Hook call took more than half of its timeout"}},
		"near it, without the mode":   {6 * time.Second, false, nil},
		"half of the timeout at most": {5 * time.Second, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := webhook(t, "http://hooks.example", "10s")
				w.client, w.developerMode = &http.Client{Transport: taking(test.takes)}, test.developer
				var lines []string
				if _, err := w.SyncComposite(klog.NewContext(t.Context(), messages(&lines)), snapshot(t)); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(lines, test.want) {
					t.Errorf("the log says %q, want %q", lines, test.want)
				}
			})
		})
	}
}

// A known answer has been read before. Its ignored fields are logged all the same.
func TestTheDeveloperModeReadsKnownAnswers(t *testing.T) {
	w := webhook(t, serve(t, answer(200, `{"Children":[]}`)), "")
	first, err := w.SyncComposite(t.Context(), snapshot(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, developer := range []bool{false, true} {
		w.developerMode = developer
		again := snapshot(t)
		again.NoOp = &pipeline.NoOp{Answer: first.Hash}
		response, err := w.SyncComposite(t.Context(), again)
		if err != nil || response.IsNoOp == developer {
			t.Errorf("with the mode: %v, the response is %+v, %v", developer, response, err)
		}
	}
}

func TestTheDeveloperModeQuotesWholeAnswers(t *testing.T) {
	traceback := "Traceback (most recent call last):\n" + strings.Repeat("  File \"/app/hook.py\", line 436, in handle\n", 40) + "KeyError: 'size'"
	long := strings.Repeat("x", 20_000)
	for name, test := range map[string]struct {
		body      string
		developer bool
		whole     bool
	}{
		"with it":              {traceback, true, true},
		"without it":           {traceback, false, false},
		"what is far too long": {long, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := webhook(t, serve(t, answer(500, test.body)), "")
			w.developerMode, w.limit = test.developer, 1<<20
			_, err := w.SyncComposite(t.Context(), snapshot(t))
			if err == nil || strings.Contains(err.Error(), test.body) != test.whole {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
