// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// notCreatable is how errors begin about a child that stays because its replacement was rejected.
const notCreatable = "it was not deleted, since a dry run of its creation failed: "

// A child is deleted only if the host would create the one that replaces it. What the host cannot try, and
// what it rejects only because the child is still there, is no reason to keep it.
func TestAChildStaysWhoseReplacementIsRejected(t *testing.T) {
	services := object.Type{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "services"},
		Kind:                 "Service", Namespaced: true,
	}
	const (
		service = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"default","uid":"u"},
			"spec":{"healthCheckNodePort":31000,"ports":[{"nodePort":30080}]}}`
		noDryRuns     = `admission webhook "x" does not support dry run`
		denial        = `admission webhook "x" denied the request`
		taken         = `spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated`
		takenByOthers = `spec.ports[1].nodePort: Invalid value: 30081: provided port is already allocated`
	)
	quota := func(used, limited string) string {
		return `pods "a" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=500m, used: ` + used +
			`, limited: ` + limited
	}
	const (
		invalid    = metav1.StatusReasonInvalid
		forbidden  = metav1.StatusReasonForbidden
		badRequest = metav1.StatusReasonBadRequest
	)
	tests := map[string]struct {
		reason    metav1.StatusReason
		message   string
		isService bool
		stays     bool
	}{
		"its name is not free":      {reason: metav1.StatusReasonAlreadyExists, message: "it exists"},
		"it is not valid":           {reason: invalid, message: "spec.replicas: no", stays: true},
		"admission denies it":       {reason: forbidden, message: denial, stays: true},
		"admission denies it so":    {reason: badRequest, message: denial, stays: true},
		"the cluster is broken":     {reason: metav1.StatusReasonInternalError, message: "etcd", stays: true},
		"the cluster cannot try it": {reason: badRequest, message: noDryRuns},
		"the quota is full with it": {
			reason: forbidden, message: quota("pods=3,requests.cpu=1500m", "pods=3,requests.cpu=2"),
		},
		"it needs more than all that have a quota": {
			reason: forbidden, message: quota("pods=3,requests.cpu=250m", "pods=3,requests.cpu=600m"), stays: true,
		},
		"the quota was lowered": {
			reason: forbidden, message: quota("pods=3,requests.cpu=1", "pods=0,requests.cpu=2"), stays: true,
		},
		"a quota says something else":   {reason: forbidden, message: quota("pods=3", "pods"), stays: true},
		"it has the node port":          {reason: invalid, message: taken, isService: true},
		"another has the node port":     {reason: invalid, message: takenByOthers, isService: true, stays: true},
		"another has one of two":        {reason: invalid, message: taken + takenByOthers, isService: true, stays: true},
		"an invalid Service":            {reason: invalid, message: "spec.ports: no", isService: true, stays: true},
		"only Services have node ports": {reason: invalid, message: taken, stays: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			recreate, of := step(t, pipeline.Recreate, "a"), "ConfigMap"
			if test.isService {
				recreate.Type, recreate.Observed, of = services, parsed(t, service), "Service"
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
