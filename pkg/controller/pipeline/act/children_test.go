// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// notCreatable is how errors begin about a child that stays because its replacement was rejected.
const notCreatable = "the server did not delete it, because a dry run of its creation failed: "

// A child is deleted only if the host would create the one that replaces it. What the host cannot try, and
// what it rejects only because the child is still there, is no reason to keep it.
func TestAChildStaysWhoseReplacementIsRejected(t *testing.T) {
	ofKind := func(resource, kind string) object.Type {
		return object.Type{
			GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Kind: kind, Namespaced: true,
		}
	}
	services, pods := ofKind("services", "Service"), ofKind("pods", "Pod")
	const (
		pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default","uid":"u"},"spec":{` +
			`"containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}]},"status":{"phase":"PHASE"}}`
		service = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"default","uid":"u"},
			"spec":{"healthCheckNodePort":31000,"ports":[{"nodePort":30080}]}}`
		noDryRuns     = `admission webhook "x" does not support dry run`
		denial        = `admission webhook "x" denied the request`
		taken         = `spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated`
		takenByOthers = `spec.ports[1].nodePort: Invalid value: 30081: provided port is already allocated`
	)
	quota := func(requested, used, limited string) string {
		return `pods "a" is forbidden: exceeded quota: q, requested: requests.cpu=` + requested +
			`, used: requests.cpu=` + used + `, limited: requests.cpu=` + limited
	}
	counted := func(used, limited string) string {
		return strings.ReplaceAll(quota("1", used, limited), "requests.cpu", "count/configmaps")
	}
	const (
		invalid    = metav1.StatusReasonInvalid
		forbidden  = metav1.StatusReasonForbidden
		badRequest = metav1.StatusReasonBadRequest
	)
	tests := map[string]struct {
		reason  metav1.StatusReason
		message string
		// of is the type of the child, a ConfigMap if it is empty.
		of object.Type
		// phase is the phase of a Pod, and needs what its replacement requests, or the ports of a Service.
		phase, needs string
		stays        bool
	}{
		"its name is not free":      {reason: metav1.StatusReasonAlreadyExists, message: "it exists"},
		"it is not valid":           {reason: invalid, message: "spec.replicas: no", stays: true},
		"admission denies it":       {reason: forbidden, message: denial, stays: true},
		"admission denies it so":    {reason: badRequest, message: denial, stays: true},
		"the cluster is broken":     {reason: metav1.StatusReasonInternalError, message: "etcd", stays: true},
		"the cluster cannot try it": {reason: badRequest, message: noDryRuns},
		"the quota is full with it": {reason: forbidden, message: counted("3", "3")},
		"the quota is not about it": {reason: forbidden, message: counted("0", "0"), stays: true},
		"the quota was lowered":     {reason: forbidden, message: counted("3", "2"), stays: true},
		"it needs as much of the quota as the child": {
			reason: forbidden, message: quota("500m", "1500m", "1500m"), of: pods,
		},
		"it needs more than the child, and finds room": {
			reason: forbidden, message: quota("600m", "1500m", "2"), of: pods,
		},
		"it needs more than the child, and finds no room": {
			reason: forbidden, message: quota("1200m", "1500m", "2"), of: pods, stays: true,
		},
		"it needs more than the child of what another quota may limit": {
			reason: forbidden, message: quota("500m", "1500m", "1500m"), of: pods,
			needs: `"cpu":"500m","memory":"1Gi"`, stays: true,
		},
		"it needs less than the child of the rest": {
			reason: forbidden, message: strings.ReplaceAll(quota("1", "3", "3"), "requests.cpu", "pods"), of: pods,
			needs: `"cpu":"400m"`,
		},
		"a quota counts Pods, and it needs more of the rest": {
			reason: forbidden, message: strings.ReplaceAll(quota("1", "3", "3"), "requests.cpu", "pods"), of: pods,
			needs: `"cpu":"600m"`, stays: true,
		},
		"the quota does not count the child, which has ended": {
			reason: forbidden, message: quota("500m", "1500m", "1500m"), of: pods, phase: "Succeeded", stays: true,
		},
		"the quota counts what the child does not use": {
			reason: forbidden, message: strings.ReplaceAll(quota("1", "2", "2"), "requests.cpu", "limits.cpu"), of: pods,
			stays: true,
		},
		"a quota says something else": {reason: forbidden, message: counted("3", "few"), stays: true},
		"it has the node port":        {reason: invalid, message: taken, of: services},
		"another may have a second one": {
			reason: invalid, message: taken, of: services, needs: `{"nodePort":30080},{"nodePort":30081}`, stays: true,
		},
		"a second one is not named": {
			reason: invalid, message: taken, of: services, needs: `{"nodePort":30080},{"port":81}`,
		},
		"another has the node port":     {reason: invalid, message: takenByOthers, of: services, stays: true},
		"another has one of two":        {reason: invalid, message: taken + takenByOthers, of: services, stays: true},
		"an invalid Service":            {reason: invalid, message: "spec.ports: no", of: services, stays: true},
		"only Services have node ports": {reason: invalid, message: taken, stays: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			recreate, of := step(t, pipeline.Recreate, "a"), "ConfigMap"
			switch test.of {
			case services:
				recreate.Type, recreate.Observed, of = services, parsed(t, service), "Service"
				if test.needs != "" {
					recreate.Body = []byte(strings.Replace(service, `{"nodePort":30080}`, test.needs, 1))
				}
			case pods:
				recreate.Type, recreate.Observed, of = pods, parsed(t, strings.Replace(pod, "PHASE", test.phase, 1)), "Pod"
				if test.needs != "" {
					recreate.Body = []byte(strings.Replace(pod, `"cpu":"500m"`, test.needs, 1))
				}
			}
			codes := map[metav1.StatusReason]int{
				metav1.StatusReasonAlreadyExists: 409, metav1.StatusReasonInvalid: 422, metav1.StatusReasonForbidden: 403,
				metav1.StatusReasonBadRequest: 400, metav1.StatusReasonInternalError: 500,
			}
			outcome, requests := take(t, recreate, func(asked request) (int, string) {
				if asked.method == http.MethodPost {
					return codes[test.reason], failure(codes[test.reason], test.reason, test.message)
				}
				return succeed(asked)
			})
			deleted := slices.ContainsFunc(requests, func(asked request) bool { return asked.method == http.MethodDelete })
			if deleted == test.stays {
				t.Errorf("the child was deleted: %v, after %v", deleted, requests)
			}
			want := ""
			if test.stays {
				want = "can't recreate " + of + " default/a: " + notCreatable + test.message
			}
			if errorText(outcome.Err) != want {
				t.Errorf("the error is %q, want %q", errorText(outcome.Err), want)
			}
		})
	}
}

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

func TestWhoHasANameThatIsTaken(t *testing.T) {
	owned := func(uid string, controller string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"u","ownerReferences":[
			{"apiVersion":"ctl.example/v1","kind":"Web","name":"shop","uid":"` + uid + `","controller":` + controller + `}]}}`
	}
	tests := map[string]struct {
		code   int
		holder string
		taken  bool
	}{
		"the parent itself, and the answer got lost": {200, owned("parent-uid", "true"), false},
		"another of the parent's name":               {200, owned("other-uid", "true"), true},
		"one that the parent owns and does not rule": {200, owned("parent-uid", "false"), true},
		"nobody's":                 {200, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, true},
		"it is free again":         {404, failure(404, metav1.StatusReasonNotFound, "gone"), false},
		"the cluster does not say": {403, failure(403, metav1.StatusReasonForbidden, "no"), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api, actor := serve(t, func(asked request) (int, string) {
				if asked.method == http.MethodPost {
					return 409, failure(409, metav1.StatusReasonAlreadyExists, "there is one")
				}
				return test.code, test.holder
			})
			outcome := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{step(t, pipeline.Create, "a")}})[0]
			if known := outcome.Holder != nil; known != (test.taken && test.code == 200) {
				t.Errorf("the holder is known: %v", known)
			}
			if outcome.NameConflict != test.taken || outcome.Conflict == test.taken || outcome.Err != nil || outcome.Result != nil {
				t.Errorf("taken is %v, overtaken %v, error %v", outcome.NameConflict, outcome.Conflict, outcome.Err)
			}
			if seen := api.seen(); len(seen) != 2 || !strings.HasSuffix(seen[1], "GET /api/v1/namespaces/default/configmaps/a") {
				t.Errorf("requests are %v", seen)
			}
		})
	}
}

// A target may have several decorators, and a composite may have it as its parent.
func TestWhatAnotherControllerMadeForTheParentIsTaken(t *testing.T) {
	const owners = `"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"shop","uid":"parent-uid","controller":true}]`
	holder := func(annotations string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"u","annotations":{` + annotations + `},` + owners + `}}`
	}
	const ofOne, ofTwo = `"metacontroller.k8s.io/decorator-controller":"one"`, `"metacontroller.k8s.io/decorator-controller":"two"`
	tests := map[string]struct {
		by     map[string]string
		holder string
		taken  bool
	}{
		"a decorator's own attachment":                {map[string]string{object.DecoratorAnnotation: "one"}, holder(ofOne), false},
		"another decorator's, for a decorator":        {map[string]string{object.DecoratorAnnotation: "one"}, holder(ofTwo), true},
		"a composite's child, for a decorator":        {map[string]string{object.DecoratorAnnotation: "one"}, holder(""), true},
		"a decorator's attachment, for a composite":   {nil, holder(ofOne), true},
		"a composite's own child, of the same parent": {nil, holder(""), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, actor := serve(t, func(asked request) (int, string) {
				if asked.method == http.MethodPost {
					return 409, failure(409, metav1.StatusReasonAlreadyExists, "there is one")
				}
				return 200, test.holder
			})
			by := snapshot(t)
			by.GeneratedAnnotations = test.by
			outcome := actor.Act(t.Context(), by, &pipeline.Plan{Steps: []pipeline.Step{step(t, pipeline.Create, "a")}})[0]
			if outcome.NameConflict != test.taken || outcome.Conflict == test.taken {
				t.Errorf("taken is %v, overtaken %v", outcome.NameConflict, outcome.Conflict)
			}
		})
	}
}
