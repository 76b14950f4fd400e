// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// reviewer answers each review alike, and notes the last one.
type reviewer struct {
	status   v1alpha1.SyncReviewStatus
	warnings []string
	err      error

	author rights.User
	seen   *v1alpha1.SyncReview
}

func (r *reviewer) ReviewSyncs(_ context.Context, author rights.User, review *v1alpha1.SyncReview) ([]string, error) {
	r.author, r.seen = author, review.DeepCopy()
	review.Status = r.status
	return r.warnings, r.err
}

// warned collects the warnings of a request.
type warned []string

func (w *warned) AddWarning(_, text string) { *w = append(*w, text) }

// createReview asks for a review of one parent.
func createReview(t *testing.T, of SyncReviewer, change func(*v1alpha1.SyncReview), validate func(context.Context, runtime.Object) error) (*v1alpha1.SyncReview, warned, error) {
	t.Helper()
	var warnings warned
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane", UID: "7", Groups: []string{"devs"}, Extra: map[string][]string{"a": {"b"}}})
	review := &v1alpha1.SyncReview{Spec: v1alpha1.SyncReviewSpec{
		Controller: v1alpha1.SyncReviewController{Kind: "CompositeController", Name: "webs"}, Parent: &v1alpha1.SyncReviewParent{Name: "web"},
	}}
	if change != nil {
		change(review)
	}
	result, err := NewSyncReviews(of).(rest.Creater).Create(warning.WithWarningRecorder(ctx, &warnings), review, validate, &metav1.CreateOptions{})
	answered, _ := result.(*v1alpha1.SyncReview)
	return answered, warnings, err
}

func TestAReviewIsAnswered(t *testing.T) {
	r := &reviewer{status: v1alpha1.SyncReviewStatus{Notes: []string{"a note"}}, warnings: []string{"a warning"}}
	answered, warnings, err := createReview(t, r, func(review *v1alpha1.SyncReview) {
		review.Status.Notes = []string{"from whoever asks"}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a note"}, answered.Status.Notes); diff != "" || answered.Spec.Parent.Name != "web" {
		t.Errorf("the spec is %+v, notes (-want +got):\n%s", answered.Spec, diff)
	}
	if diff := cmp.Diff(warned{"a warning"}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if len(r.seen.Status.Notes) > 0 {
		t.Errorf("the status that came with the request is kept: %+v", r.seen.Status)
	}
	if diff := cmp.Diff(rights.User{Name: "jane", UID: "7", Groups: []string{"devs"}, Extra: map[string][]string{"a": {"b"}}}, r.author); diff != "" {
		t.Errorf("the author (-want +got):\n%s", diff)
	}
}

func TestAReviewThatIsNotAnswered(t *testing.T) {
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		reviewer SyncReviewer
		change   func(*v1alpha1.SyncReview)
		validate func(context.Context, runtime.Object) error
		is       func(error) bool
	}{
		"in a server without controllers": {reviewer: nil, is: apierrors.IsServiceUnavailable},
		"if it is not valid": {
			reviewer: &reviewer{}, change: func(review *v1alpha1.SyncReview) { review.Spec.Parent = nil }, is: apierrors.IsInvalid,
		},
		"if admission refuses it": {
			reviewer: &reviewer{}, validate: func(context.Context, runtime.Object) error { return refused }, is: func(err error) bool { return errors.Is(err, refused) },
		},
		"if the reviewer refuses it": {reviewer: &reviewer{err: refused}, is: func(err error) bool { return errors.Is(err, refused) }},
	} {
		t.Run(name, func(t *testing.T) {
			answered, _, err := createReview(t, test.reviewer, test.change, test.validate)
			if answered != nil || err == nil || !test.is(err) {
				t.Errorf("answer is %v, error is %v", answered, err)
			}
			if r, _ := test.reviewer.(*reviewer); r != nil && r.err == nil && r.seen != nil {
				t.Error("the reviewer was asked")
			}
		})
	}
}
