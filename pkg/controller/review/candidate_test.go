// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
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

// The status of a controller is written whenever its parents change.
func TestACandidateIsTriedUponWhatIsStoredByThen(t *testing.T) {
	controller := func(version string) *v1alpha1.CompositeController {
		return &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", ResourceVersion: version}}
	}
	var tried []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if request.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode(controller("2"))
			return
		}
		var updated v1alpha1.CompositeController
		if err := json.NewDecoder(request.Body).Decode(&updated); err != nil {
			t.Error(err)
		}
		tried = append(tried, updated.ResourceVersion)
		if updated.ResourceVersion != "2" {
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(apierrors.NewConflict(v1alpha1.Resource("compositecontrollers"), "webs", errors.New("it was modified")).ErrStatus)
			return
		}
		_ = json.NewEncoder(w).Encode(updated)
	}))
	defer api.Close()
	r := &ownAPI{loopback: &rest.Config{Host: api.URL}, author: rights.User{Name: "jane"}, spec: &v1alpha1.SyncReviewSpec{
		Controller: v1alpha1.SyncReviewController{Kind: "CompositeController", Name: "webs"}, Candidate: &runtime.RawExtension{Raw: []byte("{}")},
	}}
	if _, _, _, err := r.candidate(t.Context(), controller("1")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", "2"}, tried); diff != "" {
		t.Errorf("tried versions (-want +got):\n%s", diff)
	}
}

// storing answers the own API: it has a controller whose spec has generation 1, and refuses updates with an error if
// there is one.
func storing(t *testing.T, refusal error) (loopback *rest.Config, agents *[]string) {
	t.Helper()
	agents = new([]string)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		*agents = append(*agents, request.Header.Get("Impersonate-User")+": "+request.UserAgent())
		w.Header().Set("Content-Type", "application/json")
		var updated v1alpha1.CompositeController
		err := json.NewDecoder(request.Body).Decode(&updated)
		if err != nil || request.Method != http.MethodPut || request.URL.Query().Get("dryRun") != "All" {
			t.Errorf("%s %s: %v", request.Method, request.URL, err)
		}
		if status, ok := errors.AsType[*apierrors.StatusError](refusal); ok {
			w.WriteHeader(int(status.ErrStatus.Code))
			_ = json.NewEncoder(w).Encode(status.ErrStatus)
			return
		}
		if ptr.Deref(updated.Spec.Paused, false) {
			updated.Generation++
		}
		_ = json.NewEncoder(w).Encode(updated)
	}))
	t.Cleanup(api.Close)
	return &rest.Config{Host: api.URL, UserAgent: "server"}, agents
}

func reviewOf(loopback *rest.Config, spec v1alpha1.SyncReviewSpec) *ownAPI {
	spec.Controller = v1alpha1.SyncReviewController{Kind: "CompositeController", Name: "webs"}
	return &ownAPI{loopback: loopback, author: rights.User{Name: "jane"}, spec: &spec}
}

func storedWebs() *v1alpha1.CompositeController {
	return &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", ResourceVersion: "1", Generation: 1}}
}

// The rights of a spec are checked when it changes. So a candidate that changes nothing shows none.
func TestACandidateThatChangesNothingMakesNobodyTheAuthor(t *testing.T) {
	loopback, _ := storing(t, nil)
	for candidate, isAuthor := range map[string]bool{`{}`: false, `{"paused":true}`: true} {
		r := reviewOf(loopback, v1alpha1.SyncReviewSpec{Candidate: &runtime.RawExtension{Raw: []byte(candidate)}})
		_, got, _, err := r.candidate(t.Context(), storedWebs())
		if err != nil {
			t.Fatal(err)
		}
		if got != isAuthor {
			t.Errorf("with the candidate %s, the user counts as the author: %t", candidate, got)
		}
	}
}

// Policies know what is whose: with tenants, all of them have the right to update controllers.
func TestARequestOfOnesOwnRequiresWhatAnUpdateRequires(t *testing.T) {
	spec := v1alpha1.SyncReviewSpec{Request: &runtime.RawExtension{Raw: []byte("{}")}}
	loopback, agents := storing(t, nil)
	r := reviewOf(loopback, spec)
	if err := r.mayUpdate(host.WithAuthor(t.Context(), "jane"), storedWebs()); err != nil {
		t.Errorf("who may update the controller: %v", err)
	}
	if want := []string{`jane: server (review by "jane")`}; !slices.Equal(*agents, want) {
		t.Errorf("the update is by %q, want %q", *agents, want)
	}
	policy := apierrors.NewForbidden(v1alpha1.Resource("compositecontrollers"), "webs", errors.New("it is of team bank"))
	policy.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	loopback, _ = storing(t, policy)
	err := reviewOf(loopback, spec).mayUpdate(t.Context(), storedWebs())
	want := "spec.request requires the same permissions as an update of the controller: " + policy.Error()
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}
