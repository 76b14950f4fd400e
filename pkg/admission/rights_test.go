// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// plugin is the one that asks the host.
func plugin(t *testing.T, host *fakeHost) *Rights {
	t.Helper()
	made, err := NewRights(nil)
	if err != nil {
		t.Fatal(err)
	}
	NewInitializer(host.asHost()).Initialize(made)
	rights := made.(*Rights)
	if err := rights.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	return rights
}

func allRights() []string {
	return []string{
		"get pages.example.com", "list pages.example.com", "watch pages.example.com", "update pages.example.com/status",
		"get pods", "list pods", "watch pods", "create pods", "update pods", "patch pods", "delete pods",
	}
}

func TestWhoMayCreateAController(t *testing.T) {
	const exemption = "escalate compositecontrollers.metacontroller.k8s.io"
	for name, test := range map[string]struct {
		author  user.Info
		rules   []string
		reviews int
		missing string
	}{
		"a cluster administrator costs one review":     {author: jane(), rules: []string{"*"}, reviews: 1},
		"who may escalate needs nothing else":          {author: jane(), rules: []string{exemption}, reviews: 1},
		"the host's superusers need not be asked for":  {author: &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}},
		"the server itself is one of them":             {author: &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.AllAuthenticated, user.SystemPrivilegedGroup}}},
		"its name alone makes nobody the server":       {author: &user.DefaultInfo{Name: user.APIServerUser}, reviews: 3 + 11, missing: "delete"},
		"who has every single right":                   {author: jane(), rules: allRights(), reviews: 3 + 11},
		"who may do anything with each type":           {author: jane(), rules: []string{"[*] pages.example.com", "[*] pods", "update pages.example.com/status"}, reviews: 3 + 1},
		"who may escalate decorators only":             {author: jane(), rules: append(allRights()[1:], "escalate decoratorcontrollers.metacontroller.k8s.io"), reviews: 3 + 11, missing: "get"},
		"who lacks one right":                          {author: jane(), rules: slices.DeleteFunc(allRights(), func(rule string) bool { return rule == "delete pods" }), reviews: 3 + 11, missing: "delete"},
		"who has a right to parents, not their status": {author: jane(), rules: append(slices.DeleteFunc(allRights(), func(rule string) bool { return strings.HasSuffix(rule, "/status") }), "update pages.example.com"), reviews: 3 + 11, missing: "pages/status"},
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{rules: test.rules}
			err := plugin(t, host).Validate(t.Context(), request(test.author, "", composed(), nil), nil)
			if test.missing == "" && err != nil || test.missing != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.missing)) {
				t.Errorf("error is %v, want %q to be missing", err, test.missing)
			}
			if asked := host.questions(); len(asked) != test.reviews {
				t.Errorf("%d reviews, want %d:\n%s", len(asked), test.reviews, strings.Join(asked, "\n"))
			}
		})
	}
}

func TestARefusalListsEverythingThatIsMissingAsRules(t *testing.T) {
	host := &fakeHost{rules: []string{"* pages.example.com"}, trouble: `clusterrole "gone" not found`}
	controller := composed(child("v1", "services"), child("apps/v1", "deployments"), func(spec *metacontroller.CompositeControllerSpec) {
		for _, name := range []string{"one", "two"} {
			spec.EndpointConfigs = append(spec.EndpointConfigs, metacontroller.EndpointConfig{
				Host: name, BasicAuth: &metacontroller.BasicAuth{SecretRef: metacontroller.SecretRef{Namespace: "keys", Name: name}},
			})
		}
	})
	err := plugin(t, host).Validate(t.Context(), request(jane(), "", controller, nil), nil)
	want := `compositecontrollers.metacontroller.k8s.io "pages" is forbidden: a controller may do only what its author may do, ` +
		`and user "jane" (groups=["authors" "system:authenticated"]) lacks rights that it uses
# missing in a ClusterRole:
rules:
- apiGroups: ["example.com"] # for spec.parentResource
  resources: ["pages/status"]
  verbs: ["update"]
- apiGroups: [""] # for spec.childResources[0], spec.childResources[1]
  resources: ["pods", "services"]
  verbs: ["get", "list", "watch", "create", "update", "patch", "delete"]
- apiGroups: ["apps"] # for spec.childResources[2]
  resources: ["deployments"]
  verbs: ["get", "list", "watch", "create", "update", "patch", "delete"]
# missing in a Role of namespace "keys":
rules:
- apiGroups: [""] # for spec.endpointConfigs[0].basicAuth.secretRef, spec.endpointConfigs[1].basicAuth.secretRef
  resources: ["secrets"]
  resourceNames: ["one", "two"]
  verbs: ["get"]
# The verb escalate on compositecontrollers.metacontroller.k8s.io makes up for all of them.
# The cluster could not evaluate everything: clusterrole "gone" not found`
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}

func TestTheStatusIsWrittenWhereTheHostKeepsIt(t *testing.T) {
	for name, test := range map[string]struct {
		served []string
		want   string
	}{
		"in its subresource": {[]string{"pages", "pages/status"}, "update pages.example.com/status"},
		"in the object":      {[]string{"pages"}, "update pages.example.com"},
		"in the subresource, while there is no type": {[]string{"books"}, "update pages.example.com/status"},
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{served: map[string][]string{"example.com/v1": test.served}}
			controller := composed(func(spec *metacontroller.CompositeControllerSpec) { spec.ChildResources = nil })
			if err := plugin(t, host).Validate(t.Context(), request(jane(), "", controller, nil), nil); !apierrors.IsForbidden(err) {
				t.Errorf("error is %v", err)
			}
			updates := slices.DeleteFunc(host.questions(), func(question string) bool { return !strings.HasPrefix(question, "update ") })
			if !slices.Equal(updates, []string{test.want}) {
				t.Errorf("asked for %q, want %q", updates, test.want)
			}
		})
	}
}

func TestTheHostIsToldAllThatIsKnownOfTheAuthor(t *testing.T) {
	host := &fakeHost{rules: []string{"*"}}
	if err := plugin(t, host).Validate(t.Context(), request(jane(), "", decorated("pages"), nil), nil); err != nil {
		t.Fatal(err)
	}
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "jane", UID: "7", Groups: []string{"authors", "system:authenticated"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"a", "b"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: "metacontroller.k8s.io", Version: "*", Resource: "decoratorcontrollers", Name: "pages", Verb: "escalate"},
	}
	if len(host.specs) != 1 || !reflect.DeepEqual(host.specs[0], want) {
		t.Errorf("asked %+v\nwant %+v", host.specs, want)
	}
}

func TestWhatNeedsNoRights(t *testing.T) {
	more := composed(child("v1", "secrets"))
	labelled := composed()
	labelled.Labels = map[string]string{"a": "b"}
	for name, request := range map[string]admission.Attributes{
		"an update of metadata":        request(jane(), "", labelled, composed()),
		"an update that takes rights":  request(jane(), "", composed(), more),
		"an update of the status":      request(jane(), "status", more, composed()),
		"a revision, which is no spec": request(jane(), "", &metacontroller.ControllerRevision{}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{err: errGone, discoveryErr: errGone}
			if err := plugin(t, host).Validate(t.Context(), request, nil); err != nil || len(host.questions()) > 0 {
				t.Errorf("error %v after asking %q", err, host.questions())
			}
		})
	}
	if rights := plugin(t, &fakeHost{}); rights.Handles(admission.Delete) || rights.Handles(admission.Connect) {
		t.Error("who deletes a controller is asked for its rights")
	}
}

func TestNothingIsStoredIfTheHostCannotBeAsked(t *testing.T) {
	for name, host := range map[string]*fakeHost{
		"no review":    {err: errGone},
		"no discovery": {discoveryErr: errGone},
	} {
		t.Run(name, func(t *testing.T) {
			err := plugin(t, host).Validate(t.Context(), request(jane(), "", composed(), nil), nil)
			status, ok := errors.AsType[*apierrors.StatusError](err)
			if !ok || status.ErrStatus.Code != http.StatusServiceUnavailable {
				t.Fatalf("error is %v, want one with status 503", err)
			}
			for _, want := range []string{`compositecontrollers.metacontroller.k8s.io "pages"`, `user "jane"`, errGone.Error(), "try again"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
		})
	}
}

func TestAPluginThatCannotAskIsAnError(t *testing.T) {
	made, err := NewRights(nil)
	if err != nil {
		t.Fatal(err)
	}
	if made.(*Rights).ValidateInitialization() == nil {
		t.Error("a plugin without a host is taken for one that works")
	}
}

func TestReviewsAreBounded(t *testing.T) {
	var children []func(*metacontroller.CompositeControllerSpec)
	for i := range 100 {
		children = append(children, child("v1", fmt.Sprintf("type%d", i)))
	}
	host := &fakeHost{}
	if err := plugin(t, host).Validate(t.Context(), request(jane(), "", composed(children...), nil), nil); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v", err)
	}
	if asked, want := len(host.questions()), 1+102+4+101*7; asked != want {
		t.Errorf("%d reviews, want %d", asked, want)
	}
}
