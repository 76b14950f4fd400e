// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// refusing refuses every right.
type refusing struct{}

func (refusing) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	return review, nil
}

// A controller whose account loses a right is stopped, but the queue of those that start and stop
// controllers may be long.
func TestNoHookIsCalledOnceTheAccountMayNotReadWhatItNeeds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the hook is called") }))
	t.Cleanup(server.Close)
	config, _ := hostOf(t)
	c := controllerAt(t, config, Dependencies{}, specOf(at(server.URL)))
	read := rights.Required{Right: rights.Right{Object: rights.Object{GroupResource: schema.GroupResource{Resource: "webs"}}, Verb: "list"}}
	account := &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}
	c.Reads = permissions.New(refusing{}).Require(account, []rights.Required{read}, func() {})
	t.Cleanup(c.Reads.Close)
	if result := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); result != syncqueue.RequeueAfter(refusedInterval) {
		t.Errorf("the result is %+v", result)
	}
	if health := c.Health(); health.Failing != 0 {
		t.Errorf("%d parents fail", health.Failing)
	}
}
