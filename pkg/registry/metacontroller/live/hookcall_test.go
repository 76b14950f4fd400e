// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

// reviews allows jane to get pods in all namespaces, and joe in ns.
type reviews struct{ err error }

func (r reviews) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	of := review.Spec.ResourceAttributes
	review.Status.Allowed = of.Verb == "get" && of.Resource == "pods" && (review.Spec.User == "jane" || review.Spec.User == "joe" && of.Namespace == "ns")
	return review, r.err
}

// callOf is a call in a namespace.
func callOf(namespace string) *v1alpha1.HookCall {
	return &v1alpha1.HookCall{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "call"},
		Status:     v1alpha1.HookCallStatus{Request: &v1alpha1.HookCallBody{Bytes: 2}},
	}
}

// readCall reads the call in ns as a user, from a source that may fail.
func readCall(t *testing.T, as user.Info, source func() (*v1alpha1.HookCall, error), host reviews) (runtime.Object, error) {
	t.Helper()
	rows := NewHookCallRows(followOf(callOf("ns")))
	run(t, rows)
	bodies := func(_ context.Context, name types.NamespacedName) (*v1alpha1.HookCall, []rights.Required, error) {
		if name.String() != "ns/call" {
			t.Errorf("asked for is %s", name)
		}
		call, err := source()
		pods := rights.Object{GroupResource: schema.GroupResource{Resource: "pods"}, Namespace: "ns"}
		return call, []rights.Required{{Right: rights.Right{Object: pods, Verb: "get"}, For: "its children"}}, err
	}
	storage := NewHookCalls(rows, bodies, host).(rest.Getter)
	for {
		found, err := storage.Get(request.WithUser(inNamespace(t, "ns"), as), "call", &metav1.GetOptions{})
		if err == nil || !strings.Contains(err.Error(), "about to start") {
			return found, err
		}
	}
}

func TestOnlyWhoMayGetTheObjectsOfACallMayReadIt(t *testing.T) {
	kept := func() (*v1alpha1.HookCall, error) { return callOf("ns"), nil }
	for name, test := range map[string]struct {
		as     user.Info
		source func() (*v1alpha1.HookCall, error)
		host   reviews
		is     func(error) bool
		says   string
	}{
		"who may get all of the objects":    {as: &user.DefaultInfo{Name: "jane"}},
		"who may get them in the namespace": {as: &user.DefaultInfo{Name: "joe"}},
		"the administrator": {
			as: &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}},
		},
		"who may not": {
			as: &user.DefaultInfo{Name: "eve"}, is: apierrors.IsForbidden, says: `resources: ["pods"]`,
		},
		"if the cluster cannot be asked": {
			as: &user.DefaultInfo{Name: "jane"}, host: reviews{errors.New("no")}, is: apierrors.IsServiceUnavailable,
			says: "may see",
		},
		"if the controllers do not run": {
			as: &user.DefaultInfo{Name: "jane"}, source: func() (*v1alpha1.HookCall, error) { return nil, errors.New("down") },
			is: apierrors.IsServiceUnavailable, says: "down",
		},
		"if the call has just been displaced": {as: &user.DefaultInfo{Name: "jane"}, source: func() (*v1alpha1.HookCall, error) { return nil, nil }, is: apierrors.IsNotFound, says: "call"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.source == nil {
				test.source = kept
			}
			found, err := readCall(t, test.as, test.source, test.host)
			switch {
			case test.is == nil && err == nil:
				if found.(*v1alpha1.HookCall).ResourceVersion == "" {
					t.Errorf("found %v", found)
				}
			case test.is == nil || !test.is(err) || !strings.Contains(err.Error(), test.says):
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestTableOfHookCalls(t *testing.T) {
	began := metav1.NewMicroTime(time.Now().Add(-90 * time.Second))
	call := &v1alpha1.HookCall{
		ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Spec: v1alpha1.HookCallSpec{
			Controller: v1alpha1.ControllerReference{Kind: "CompositeController", Name: "webs"}, Hook: "sync", URL: "http://h",
			Parent: v1alpha1.ParentReference{Kind: "Web", Name: "shop"},
		},
		Status: v1alpha1.HookCallStatus{
			StartTime: began, Duration: metav1.Duration{Duration: 1500 * time.Microsecond}, Code: 200, Result: v1alpha1.HookCallSucceeded,
			Request: &v1alpha1.HookCallBody{Bytes: 7}, Response: &v1alpha1.HookCallBody{Bytes: 8},
		},
	}
	const header = "NAME CONTROLLER HOOK PARENT CODE TOOK RESULT AGE MESSAGE | SENT RECEIVED URL\n"
	want := header + "n cc/webs sync Web/shop 200 2ms Succeeded 90s  | 7 8 http://h"
	if got := registrytest.Table(t, newHookCallTable(), call); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
	call.Status = v1alpha1.HookCallStatus{
		StartTime: began, Result: v1alpha1.HookCallFailed, Message: "connection\nrefused",
	}
	want = header + "n cc/webs sync Web/shop <none> 0s Failed 90s connection refused | 0 <none> http://h"
	if got := registrytest.Table(t, newHookCallTable(), call); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}
