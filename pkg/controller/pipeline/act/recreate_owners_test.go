// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// ownedChild is the child a of which we own fields by server-side apply; empty if we own none.
func ownedChild(version, ours, others string) string {
	managed := others
	if ours != "" {
		if others != "" {
			managed += ","
		}
		managed += `{"manager":"metacontroller","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + ours + `}`
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"uid-of-a","resourceVersion":%q,"managedFields":[%s]},"data":{"a":"1","b":"2"}}`, version, managed)
}

// If applying would change no content, what we own is what tells a field that the hook has dropped
// from one that it never wanted.
func TestRecreateFollowsTheOwnersOfFields(t *testing.T) {
	const (
		a, ab    = `{"f:data":{"f:a":{}}}`, `{"f:data":{"f:a":{},"f:b":{}}}`
		theirs   = `{"manager":"kubectl","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + ab + `}`
		theirsA  = `{"manager":"kubectl","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + a + `}`
		body     = `{"kind":"ConfigMap","metadata":{"name":"a","uid":"uid-of-a"}}`
		inPlace  = `{"kind":"ConfigMap","metadata":{"name":"a","uid":"uid-of-a","resourceVersion":"7"}}`
		tryA     = "/api/v1/namespaces/default/configmaps/a?dryRun=All&fieldManager=metacontroller&force=true"
		path     = "/api/v1/namespaces/default/configmaps/a"
		deletion = `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-of-a"},"propagationPolicy":"Background"}`
	)
	try, read := request{"PATCH", tryA, applyPatch, body}, request{"GET", path, "", ""}
	apply, remove := request{"PATCH", applyA, applyPatch, inPlace}, request{"DELETE", path, "application/json", deletion}
	tryCreate := request{
		"POST", "/api/v1/namespaces/default/configmaps?dryRun=All&fieldManager=metacontroller", "application/json", body,
	}
	conflict := failure(409, metav1.StatusReasonConflict, "no")
	tests := map[string]struct {
		observed, tried, live string
		liveCode, applyCode   int
		applied               string
		requests              []request
		op                    pipeline.Op
		overtaken             bool
		err                   string
	}{
		"nothing differs": {
			observed: ownedChild("7", ab, theirs), tried: ownedChild("7", ab, theirs), requests: []request{try}, op: pipeline.Keep,
		},
		"nothing differs from what the cache does not show yet": {
			observed: ownedChild("7", ab, theirs), tried: ownedChild("8", ab, theirs), requests: []request{try}, op: pipeline.Keep,
		},
		"the cache does not show yet what was applied after the adoption": {
			observed: ownedChild("7", "", theirs), tried: ownedChild("8", a, theirs),
			applyCode: 200, applied: ownedChild("9", a, theirs), requests: []request{try}, op: pipeline.Recreate, overtaken: true,
		},
		"the child was adopted": {
			observed: ownedChild("7", "", theirs), tried: ownedChild("7", ab, theirs), applyCode: 200, applied: ownedChild("9", ab, theirs),
			requests: []request{try, apply}, op: pipeline.Apply,
		},
		"the hook wants what somebody had added": {
			observed: ownedChild("7", a, theirs), tried: ownedChild("7", ab, theirs), applyCode: 200, applied: ownedChild("9", ab, theirs),
			requests: []request{try, apply}, op: pipeline.Apply,
		},
		"the child changes before it is applied": {
			observed: ownedChild("7", a, theirs), tried: ownedChild("7", ab, theirs), applyCode: 409, applied: conflict,
			requests: []request{try, apply}, op: pipeline.Recreate, overtaken: true,
		},
		"the hook drops what another keeps": {
			observed: ownedChild("7", ab, theirs), tried: ownedChild("7", a, theirs), live: ownedChild("7", ab, theirs), liveCode: 200,
			requests: []request{try, read, tryCreate, remove}, op: pipeline.Recreate,
		},
		"the hook drops what the host fills in": {
			observed: ownedChild("7", ab, theirsA), tried: ownedChild("7", a, theirsA), live: ownedChild("7", ab, theirsA), liveCode: 200,
			applyCode: 200, applied: ownedChild("9", a, theirsA), requests: []request{try, read, apply}, op: pipeline.Apply,
		},
		"the child is gone before its owners are read": {
			observed: ownedChild("7", ab, theirs), tried: ownedChild("7", a, theirs), live: failure(404, metav1.StatusReasonNotFound, "no"), liveCode: 404,
			requests: []request{try, read}, op: pipeline.Recreate, overtaken: true,
		},
		"its owners cannot be told": {
			observed: ownedChild("7", ab, theirs), tried: ownedChild("7", a, theirs), live: failure(500, metav1.StatusReasonInternalError, "no"), liveCode: 500,
			requests: []request{try, read}, op: pipeline.Recreate, err: "can't recreate ConfigMap default/a: no",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			step := step(t, pipeline.Recreate, "a")
			step.Body, step.Successor = []byte(body), nil
			observed, err := object.NewReader(object.FieldManager).Parse([]byte(test.observed))
			if err != nil {
				t.Fatal(err)
			}
			step.Observed = observed
			outcome, requests := take(t, step, func(asked request) (int, string) {
				switch {
				case asked.url == tryA:
					return 200, test.tried
				case asked.method == "PATCH":
					return test.applyCode, test.applied
				case asked.method == "GET":
					return test.liveCode, test.live
				}
				return succeed(asked)
			})
			if diff := cmp.Diff(test.requests, requests, cmp.AllowUnexported(request{})); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if outcome.Op != test.op || outcome.Conflict != test.overtaken || errorText(outcome.Err) != test.err {
				t.Errorf("%s because %s, overtaken %v, error %v", outcome.Op, outcome.Why, outcome.Conflict, outcome.Err)
			}
			switch {
			case test.op == pipeline.Keep && outcome.Result != observed:
				t.Errorf("the result is %v, not what was observed", outcome.Result)
			case test.op == pipeline.Apply && (outcome.Result == nil || outcome.Result.ResourceVersion != "9"):
				t.Errorf("the result is %v, not what was applied", outcome.Result)
			}
		})
	}
}
