// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

const (
	applyPatch = "application/apply-patch+yaml"
	applyA     = "/api/v1/namespaces/default/configmaps/a?fieldManager=metacontroller&force=true"
)

// probe is a step that recreates the child a if applying its body would change it.
func probe(t *testing.T) pipeline.Step {
	s := step(t, pipeline.Recreate, "a")
	s.Successor = nil
	s.Observed = parsed(t, child("7", "one"))
	return s
}

// child is the child a in a version with a content.
func child(version, data string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"uid-of-a","resourceVersion":%q},"data":{"key":%q}}`, version, data)
}

// take takes one step and returns its outcome with the requests it took.
func take(t *testing.T, step pipeline.Step, answer func(request) (int, string)) (pipeline.Outcome, []request) {
	t.Helper()
	api, actor := serve(t, answer)
	outcomes := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{step}})
	if len(outcomes) != 1 {
		t.Fatalf("there are %d outcomes", len(outcomes))
	}
	return outcomes[0], api.requests
}

func TestApply(t *testing.T) {
	changes, creates := step(t, pipeline.Apply, "a"), step(t, pipeline.Apply, "a")
	creates.Observed = nil
	conflict := failure(409, metav1.StatusReasonConflict, "no")
	var replacedStatus metav1.Status
	if err := json.Unmarshal([]byte(failure(422, metav1.StatusReasonInvalid, "field is immutable")), &replacedStatus); err != nil {
		t.Fatal(err)
	}
	replacedStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.uid"}}}
	replaced, err := json.Marshal(replacedStatus)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		step   pipeline.Step
		code   int
		answer string
		want   pipeline.Outcome
		err    string
	}{
		"a change":   {step: changes, code: 200, answer: child("9", "two")},
		"a creation": {step: creates, code: 201, answer: child("9", "two")},
		"a creation, the name is taken": {
			step: creates, code: 409, answer: conflict, want: pipeline.Outcome{NameConflict: true},
		},
		"a creation, the namespace is gone": {
			step: creates, code: 404, answer: failure(404, metav1.StatusReasonNotFound, "no"),
			err: "can't apply ConfigMap default/a: no",
		},
		"a change, the child has changed": {
			step: changes, code: 409, answer: conflict, want: pipeline.Outcome{Conflict: true},
		},
		"a change, the child was replaced": {
			step: changes, code: 422, answer: string(replaced), want: pipeline.Outcome{Conflict: true},
		},
		"a change that is not valid": {
			step: changes, code: 422, answer: failure(422, metav1.StatusReasonInvalid, "no"),
			err: "can't apply ConfigMap default/a: no",
		},
		"a server that does not apply itself": {
			step: changes, code: 415, answer: failure(415, metav1.StatusReasonUnsupportedMediaType, "no"),
			err: "can't apply ConfigMap default/a: no (its API server has no server-side apply: " +
				"set updateStrategy.apply to DynamicApply)",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			outcome, requests := take(t, test.step, func(request) (int, string) { return test.code, test.answer })
			want := []request{{"PATCH", applyA, applyPatch, `{"a":"a"}`}}
			if test.want.NameConflict { // the actor reads who has the name
				want = append(want, request{"GET", "/api/v1/namespaces/default/configmaps/a", "", ""})
			}
			if diff := cmp.Diff(want, requests, cmp.AllowUnexported(request{})); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if outcome.NameConflict != test.want.NameConflict || outcome.Conflict != test.want.Conflict || errorText(outcome.Err) != test.err {
				t.Errorf("taken %v, overtaken %v, error %v", outcome.NameConflict, outcome.Conflict, outcome.Err)
			}
			if (outcome.Result != nil) != (test.code < 300) {
				t.Errorf("the result is %v", outcome.Result)
			}
		})
	}
}

// The generation is no content: that an update would raise it says that something else
// differs, or nothing.
func TestQ10RecreateAsksTheHostWhatDiffers(t *testing.T) {
	exists := failure(409, metav1.StatusReasonAlreadyExists, "no")
	invalid := failure(422, metav1.StatusReasonInvalid, "field is immutable")
	const denial, cannotTry = `admission webhook "x" denied the request: no`, `admission webhook "x" does not support dry run`
	try := request{"PATCH", "/api/v1/namespaces/default/configmaps/a?dryRun=All&fieldManager=metacontroller&force=true", applyPatch, `{"a":"a"}`}
	tryCreate := request{"POST", "/api/v1/namespaces/default/configmaps?dryRun=All&fieldManager=metacontroller", "application/json", `{"a":"a"}`}
	deletion := request{"DELETE", "/api/v1/namespaces/default/configmaps/a", "application/json",
		`{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-of-a"},"propagationPolicy":"Background"}`}
	tests := map[string]struct {
		rolls                  bool
		tried, created         string
		triedCode, createdCode int
		requests               []request
		op                     pipeline.Op
		overtaken              bool
		err                    string
	}{
		"it would change": {
			triedCode: 200, tried: child("7", "two"), createdCode: 409, created: exists,
			requests: []request{try, tryCreate, deletion}, op: pipeline.Recreate,
		},
		"it would change, with its generation": {
			triedCode: 200, tried: strings.Replace(child("7", "two"), `"uid"`, `"generation":2,"uid"`, 1),
			createdCode: 409, created: exists, requests: []request{try, tryCreate, deletion}, op: pipeline.Recreate,
		},
		"it would not change": {triedCode: 200, tried: child("7", "one"), requests: []request{try}, op: pipeline.Keep},
		"only its owners of fields and its generation would change": {
			triedCode: 200, tried: strings.Replace(child("7", "one"), `"uid"`, `"generation":2,"managedFields":[{"manager":"x"}],"uid"`, 1), requests: []request{try}, op: pipeline.Keep,
		},
		"its status has changed meanwhile": {triedCode: 200, tried: child("8", "one"), requests: []request{try}, op: pipeline.Keep},
		"it has changed meanwhile":         {triedCode: 200, tried: child("8", "two"), requests: []request{try}, op: pipeline.Recreate, overtaken: true},
		"it is gone meanwhile":             {triedCode: 409, tried: failure(409, metav1.StatusReasonConflict, "no"), requests: []request{try}, op: pipeline.Recreate, overtaken: true},
		"we lack the right to ask": {
			triedCode: 403, tried: failure(403, metav1.StatusReasonForbidden, `configmaps "a" is forbidden: User "u" cannot patch resource "configmaps" in API group "" in the namespace "default"`),
			requests: []request{try}, op: pipeline.Recreate,
			err: `can't recreate ConfigMap default/a: configmaps "a" is forbidden: ` +
				`User "u" cannot patch resource "configmaps" in API group "" in the namespace "default" ` +
				`(the missing rule is {apiGroups: [""], resources: ["configmaps"], verbs: ["patch"]} ` +
				`in a Role of namespace "default")`,
		},
		"admission denies it": {
			triedCode: 403, tried: failure(403, metav1.StatusReasonForbidden, denial), requests: []request{try}, op: pipeline.Recreate,
			err: "can't recreate ConfigMap default/a: " + denial,
		},
		"admission denies it with another code": {
			triedCode: 400, tried: failure(400, metav1.StatusReasonBadRequest, denial), requests: []request{try}, op: pipeline.Recreate,
			err: "can't recreate ConfigMap default/a: " + denial,
		},
		"admission denies it with what another host says": {
			triedCode: 400, tried: failure(400, metav1.StatusReasonBadRequest, `admission webhook "y" denied the request: `+cannotTry), requests: []request{try}, op: pipeline.Recreate,
			err: `can't recreate ConfigMap default/a: admission webhook "y" denied the request: ` + cannotTry,
		},
		"a quota denies it": {
			triedCode: 403, tried: failure(403, metav1.StatusReasonForbidden, "exceeded quota"), requests: []request{try}, op: pipeline.Recreate,
			err: "can't recreate ConfigMap default/a: exceeded quota",
		},
		"the host cannot try": {triedCode: 400, tried: failure(400, metav1.StatusReasonBadRequest, cannotTry), requests: []request{try}, op: pipeline.Keep},
		"the host cannot try, and a rollout waits for the child": {
			rolls: true, triedCode: 400, tried: failure(400, metav1.StatusReasonBadRequest, cannotTry), requests: []request{try}, op: pipeline.Recreate,
			err: "can't recreate ConfigMap default/a: the server did not change it, because the dry run " +
				"that compares it with the desired state failed: " + cannotTry +
				" (set sideEffects of the webhook to None or NoneOnDryRun, or updateStrategy.apply to DynamicApply)",
		},
		"the cluster is broken": {
			triedCode: 500, tried: failure(500, metav1.StatusReasonInternalError, "no"),
			requests: []request{try}, op: pipeline.Recreate, err: "can't recreate ConfigMap default/a: no",
		},
		"it must not change": {
			triedCode: 422, tried: invalid, createdCode: 409, created: exists,
			requests: []request{try, tryCreate, deletion}, op: pipeline.Recreate,
		},
		"it must not change and is gone": {
			triedCode: 422, tried: invalid, createdCode: 201, created: child("", "two"),
			requests: []request{try, tryCreate, deletion}, op: pipeline.Recreate,
		},
		"it must not be, changed or new": {
			triedCode: 422, tried: invalid, createdCode: 422, created: failure(422, metav1.StatusReasonInvalid, "key is wrong"),
			requests: []request{try, tryCreate}, op: pipeline.Recreate,
			err: "can't recreate ConfigMap default/a: " + notCreatable + "key is wrong",
		},
		"it could be changed, and is no new object": {
			triedCode: 200, tried: child("7", "two"),
			createdCode: 403, created: failure(403, metav1.StatusReasonForbidden, denial),
			requests: []request{try, tryCreate}, op: pipeline.Recreate,
			err: "can't recreate ConfigMap default/a: " + notCreatable + denial,
		},
		"it must not change, no more known": {
			triedCode: 422, tried: invalid, createdCode: 403, created: failure(403, metav1.StatusReasonForbidden, "no"),
			requests: []request{try, tryCreate}, op: pipeline.Recreate,
			err: "can't recreate ConfigMap default/a: " + notCreatable + "no",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			step := probe(t)
			step.Rolls = test.rolls
			outcome, requests := take(t, step, func(asked request) (int, string) {
				switch asked.method {
				case "PATCH":
					return test.triedCode, test.tried
				case "POST":
					return test.createdCode, test.created
				}
				return succeed(asked)
			})
			if diff := cmp.Diff(test.requests, requests, cmp.AllowUnexported(request{})); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if outcome.Op != test.op || outcome.Conflict != test.overtaken || errorText(outcome.Err) != test.err {
				t.Errorf("%s, overtaken %v, error %v", outcome.Op, outcome.Conflict, outcome.Err)
			}
			if (outcome.Result == step.Observed) != (test.op == pipeline.Keep) {
				t.Errorf("the result is %v", outcome.Result)
			}
		})
	}
}

// live is the child a with managedFields.
func live(annotations string, entries string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"uid-of-a","resourceVersion":"7"` + annotations + `,"managedFields":[` + entries + `]},"data":{"a":"1"}}`
}

func TestMoves(t *testing.T) {
	const updated = `{"manager":"metacontroller","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}`
	applied := strings.Replace(updated, "Update", "Apply", 1)
	const record, version = `,"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{}"}`, `{"op":"replace","path":"/metadata/resourceVersion","value":"7"}`
	owners := func(entries string) string {
		return `{"op":"replace","path":"/metadata/managedFields","value":[` + entries + `]},`
	}
	const path = "/metadata/annotations/metacontroller.k8s.io~1last-applied-configuration"
	tests := map[string]struct {
		op         pipeline.Op
		body, live string
		want       string
	}{
		"to server-side apply": {
			pipeline.ToServerSideApply, `{"data":{"a":"1"}}`, live(record, updated),
			`[` + owners(applied) + `{"op":"remove","path":"` + path + `"},` + version + `]`,
		},
		"to server-side apply, without a record any more": {
			pipeline.ToServerSideApply, `{"data":{"a":"1"}}`, live("", updated), `[` + owners(applied) + version + `]`,
		},
		"to server-side apply, without owners": {
			pipeline.ToServerSideApply, `{"data":{"a":"1"}}`, live(record, ""), `[{"op":"remove","path":"` + path + `"},` + version + `]`,
		},
		"to dynamic apply": {
			pipeline.ToDynamicApply, `{"data":{"a":"1"}}`, live(`,"annotations":{"x":"y"}`, applied),
			`[` + owners(updated) + `{"op":"add","path":"` + path + `","value":"{\"data\":{\"a\":\"1\"}}"},` + version + `]`,
		},
		"to dynamic apply, without annotations": {
			pipeline.ToDynamicApply, `{}`, live("", applied),
			`[` + owners(updated) + `{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"` + path + `","value":"{}"},` + version + `]`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			move := step(t, test.op, "a")
			move.Body = []byte(test.body)
			outcome, requests := take(t, move, func(asked request) (int, string) {
				if asked.method == "GET" {
					return 200, test.live
				}
				return succeed(asked)
			})
			if outcome.Err != nil || outcome.Result == nil || len(requests) != 2 {
				t.Fatalf("error %v, result %v, requests %v", outcome.Err, outcome.Result, requests)
			}
			patch := requests[1]
			if patch.url != "/api/v1/namespaces/default/configmaps/a?fieldManager=metacontroller" || patch.contentType != "application/json-patch+json" {
				t.Errorf("the patch is sent by %s as %s", patch, patch.contentType)
			}
			if diff := cmp.Diff(decodedList(t, test.want), decodedList(t, patch.body)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

func decodedList(t *testing.T, text string) (list []any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return list
}

func TestNothingIsMovedThatHasChanged(t *testing.T) {
	tests := map[string]struct {
		code      int
		live      string
		patchCode int
		overtaken bool
		err       string
	}{
		"it is gone":              {code: 404, live: failure(404, metav1.StatusReasonNotFound, "no"), overtaken: true},
		"it was replaced":         {code: 200, live: strings.Replace(live("", ""), "uid-of-a", "other", 1), overtaken: true},
		"it changes meanwhile":    {code: 200, live: live("", ""), patchCode: 409, overtaken: true},
		"its owners are unknown":  {code: 200, live: live("", `{"manager":"metacontroller","operation":"Update","fieldsV1":{"f:a":1}}`), err: "can't move to server-side apply ConfigMap default/a: read managed fields"},
		"the host cannot tell it": {code: 500, live: failure(500, metav1.StatusReasonInternalError, "no"), err: "can't move to server-side apply ConfigMap default/a: no"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			move := step(t, pipeline.ToServerSideApply, "a")
			outcome, requests := take(t, move, func(asked request) (int, string) {
				if asked.method == "GET" {
					return test.code, test.live
				}
				return test.patchCode, failure(test.patchCode, metav1.StatusReasonConflict, "no")
			})
			if outcome.Conflict != test.overtaken || !strings.HasPrefix(errorText(outcome.Err), test.err) || (outcome.Err != nil) != (test.err != "") {
				t.Errorf("overtaken %v, error %v", outcome.Conflict, outcome.Err)
			}
			if wrote := len(requests) > 1; wrote != (test.patchCode != 0) {
				t.Errorf("there were the requests %v", requests)
			}
		})
	}
}
