// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// cluster allows what its rules allow: "<verb> <resource> <namespace>", with * for all namespaces. It
// notes what it was asked, which may be several things at once.
type cluster struct {
	rules []string
	// err is why it cannot be asked.
	err error

	mu    sync.Mutex
	asked []string
}

func (c *cluster) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	of := review.Spec.ResourceAttributes
	namespace := of.Namespace
	if namespace == "" {
		namespace = "*"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, fmt.Sprintf("%s %s %s", of.Verb, of.Resource, namespace))
	answered := review.DeepCopy()
	for _, rule := range c.rules {
		if rule == fmt.Sprintf("%s %s *", of.Verb, of.Resource) || rule == fmt.Sprintf("%s %s %s", of.Verb, of.Resource, namespace) {
			answered.Status.Allowed = true
		}
	}
	return answered, c.err
}

func TestReviewsAreBoundedInNumber(t *testing.T) {
	r := New(&rest.Config{}, &cluster{})
	enter := func(user, refusal string) {
		t.Helper()
		err := r.enter(user)
		if refusal == "" && err != nil {
			t.Errorf("a review of %s: %v", user, err)
		}
		if refusal == "" {
			return
		}
		if seconds, given := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !given || seconds != 2 || !strings.Contains(err.Error(), refusal) {
			t.Errorf("a review of %s: error is %v", user, err)
		}
	}
	for range 4 {
		enter("jane", "")
	}
	enter("jane", `4 reviews of user "jane" are being answered; try again later`)
	for range 4 {
		enter("joe", "")
	}
	enter("jim", "8 reviews are being answered; try again later")
	r.leave("jane")
	enter("jim", "")
	for range 3 {
		r.leave("jane")
	}
	for range 4 {
		r.leave("joe")
	}
	r.leave("jim")
	if r.all != 0 || len(r.underWay) != 0 {
		t.Errorf("all reviews have ended, but %d are counted, by user %v", r.all, r.underWay)
	}
}

func TestAPanicIsTheErrorOfOneReview(t *testing.T) {
	r := New(&rest.Config{}, &cluster{}) // which has no reconciler, and so panics
	_, ctx := ktesting.NewTestContext(t)
	ctx = klog.NewContext(ctx, ktesting.NewLogger(t, ktesting.NewConfig()))
	for range maxAtOnce + 1 { // each gives its place back
		review := &v1alpha1.SyncReview{Spec: v1alpha1.SyncReviewSpec{Controller: v1alpha1.SyncReviewController{Kind: "CompositeController", Name: "webs"}}}
		_, err := r.Answer(ctx, rights.User{Name: "root", Groups: []string{"system:masters"}}, review)
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "panic") {
			t.Fatalf("error is %v", err)
		}
	}
	if failed := testutil.ToFloat64(r.counts.WithLabelValues("", "CompositeController", "failed")); failed != maxAtOnce+1 {
		t.Errorf("%v reviews are counted", failed)
	}
}

// Otherwise nobody could tell who has asked whose hook.
func TestReviewsAreLoggedWithTheirUsers(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	r := &reviewing{
		Reviews: &Reviews{counts: newCounts()}, author: rights.User{Name: "jane"}, isStored: true,
		spec: reviewOf(nil, v1alpha1.SyncReviewSpec{Request: &runtime.RawExtension{Raw: []byte("{}")}}).spec,
	}
	refusal := apierrors.NewForbidden(v1alpha1.Resource("syncreviews"), "webs", errors.New("no"))
	r.trace(klog.NewContext(t.Context(), logger), refusal)
	logged := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	for _, want := range []string{`user="jane"`, `controller="webs"`, `request=true`, `result="refused"`} {
		if !strings.Contains(logged, want) {
			t.Errorf("the log lacks %s: %s", want, logged)
		}
	}
	if refused := testutil.ToFloat64(r.counts.WithLabelValues("webs", "CompositeController", "refused")); refused != 1 {
		t.Errorf("%v refused reviews are counted", refused)
	}
}
