// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestARefusedRequestNamesTheMissingRule(t *testing.T) {
	const user = `User "system:serviceaccount:shop:websites" cannot `
	for name, test := range map[string]struct{ refusal, want string }{
		"in a namespace": {
			refusal: `configmaps is forbidden: ` + user + `create resource "configmaps" in API group "" in the namespace "shop"`,
			want: ` (the missing rule is {apiGroups: [""], resources: ["configmaps"], verbs: ["create"]} ` +
				`in a Role of namespace "shop")`,
		},
		"of a cluster-scoped object": {
			refusal: `nodes "a" is forbidden: ` + user + `delete resource "nodes" in API group "" at the cluster scope`,
			want:    ` (the missing rule is {apiGroups: [""], resources: ["nodes"], verbs: ["delete"]} in a ClusterRole)`,
		},
		"of a subresource": {
			refusal: `things.example.com "a" is forbidden: ` + user +
				`update resource "things/status" in API group "example.com" in the namespace "shop"`,
			want: ` (the missing rule is {apiGroups: ["example.com"], resources: ["things/status"], verbs: ["update"]} ` +
				`in a Role of namespace "shop")`,
		},
		"with the reason of another authorizer": {
			refusal: `configmaps "a" is forbidden: ` + user +
				`update resource "configmaps" in API group "" in the namespace "shop": the cluster is frozen`,
			want: ` (the missing rule is {apiGroups: [""], resources: ["configmaps"], verbs: ["update"]} ` +
				`in a Role of namespace "shop")`,
		},
		"by admission, which no rule changes": {
			refusal: `pods "a" is forbidden: exceeded quota: few`,
		},
		"by a policy that quotes another refusal": {
			refusal: `pods "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: ` +
				`pods is forbidden: ` + user + `create resource "pods" in API group ""`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			refused := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: test.refusal}}
			err := withMissingRule(refused)
			if got := err.Error(); got != test.refusal+test.want {
				t.Errorf("the error is %q, want %q", got, test.refusal+test.want)
			}
			if !apierrors.IsForbidden(err) {
				t.Error("its reason is lost")
			}
		})
	}
	if other := errors.New(user + `create resource "configmaps" in API group ""`); !errors.Is(withMissingRule(other), other) || withMissingRule(other).Error() != other.Error() {
		t.Error("another error was changed")
	}
}
