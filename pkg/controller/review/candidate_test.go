// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestErrorsOfACandidateNameItsFieldsInTheReview(t *testing.T) {
	kind := schema.GroupKind{Group: "metacontroller.k8s.io", Kind: "CompositeController"}
	hooks := field.NewPath("spec", "hooks")
	err := aboutCandidate(apierrors.NewInvalid(kind, "webs", field.ErrorList{
		field.Required(hooks.Child("sync"), "or spec.hooks.finalize"), field.Invalid(field.NewPath("spec"), "x", "is no object"),
	}))
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		t.Fatalf("error is %v", err)
	}
	const want = `CompositeController.metacontroller.k8s.io "webs" is invalid: [spec.candidate.hooks.sync: Required value: or spec.candidate.hooks.finalize, ` +
		`spec: Invalid value: "x": is no object]`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	causes := []metav1.StatusCause{
		{Type: "FieldValueRequired", Message: "Required value: or spec.candidate.hooks.finalize", Field: "spec.candidate.hooks.sync"},
		{Type: "FieldValueInvalid", Message: `Invalid value: "x": is no object`, Field: "spec.candidate"},
	}
	if diff := cmp.Diff(causes, status.ErrStatus.Details.Causes); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if other := errors.New("spec.hooks"); !errors.Is(aboutCandidate(other), other) {
		t.Error("an error that is none of the API is another now")
	}
}

func TestWarningsOfACandidateNameItsFieldsInTheReview(t *testing.T) {
	var w warnings
	w.HandleWarningHeaderWithContext(t.Context(), 299, "", `spec.hooks.sync.webhook.url: is old`)
	w.HandleWarningHeaderWithContext(t.Context(), 199, "", "another")
	if diff := cmp.Diff([]string{"spec.candidate.hooks.sync.webhook.url: is old"}, w.texts); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
