// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// get is the right to get objects of a resource in a namespace.
func get(resource, namespace string) rights.Required {
	return rights.Required{Right: rights.Right{Verb: "get", Object: rights.Object{GroupResource: schema.GroupResource{Resource: resource}, Namespace: namespace}}, For: "its children"}
}

func TestWhatTheClusterIsAsked(t *testing.T) {
	type check struct {
		of      rights.Required
		allowed bool
	}
	tests := map[string]struct {
		groups []string
		rules  []string
		checks []check
		asked  []string
	}{
		"a right is asked for once": {
			rules:  []string{"get pods shop"},
			checks: []check{{get("pods", "shop"), true}, {get("pods", "shop"), true}},
			asked:  []string{"get pods shop"},
		},
		"a refused right is asked for again": {
			checks: []check{{get("pods", "shop"), false}, {get("pods", "shop"), false}},
			asked:  []string{"get pods shop", "get pods shop"},
		},
		"in the second namespace, all are asked for": {
			rules:  []string{"get pods *"},
			checks: []check{{get("pods", "a"), true}, {get("pods", "b"), true}, {get("pods", "c"), true}},
			asked:  []string{"get pods a", "get pods *"},
		},
		"who has the right in some namespaces is asked about each": {
			rules:  []string{"get pods a", "get pods b"},
			checks: []check{{get("pods", "a"), true}, {get("pods", "b"), true}, {get("pods", "c"), false}},
			asked:  []string{"get pods a", "get pods *", "get pods b", "get pods c"},
		},
		"each type is on its own": {
			rules:  []string{"get pods *", "get secrets a"},
			checks: []check{{get("pods", "a"), true}, {get("pods", "b"), true}, {get("secrets", "a"), true}, {get("secrets", "b"), false}},
			asked:  []string{"get pods a", "get pods *", "get secrets a", "get secrets *", "get secrets b"},
		},
		"a user who may do everything is not asked about": {
			groups: []string{"system:masters"},
			checks: []check{{get("secrets", "a"), true}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			host := &cluster{rules: test.rules}
			p := newPermit(host, rights.User{Name: "jane", Groups: test.groups}, v1alpha1.SyncReviewController{Kind: "CompositeController", Name: "webs"})
			for _, check := range test.checks {
				err := p.check(t.Context(), []rights.Required{check.of})
				if (err == nil) != check.allowed || err != nil && !apierrors.IsForbidden(err) {
					t.Errorf("%v: error is %v", check.of.Right, err)
				}
			}
			if diff := cmp.Diff(test.asked, host.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAReviewIsTriedAgainIfTheClusterCannotBeAsked(t *testing.T) {
	of := v1alpha1.SyncReviewController{Kind: "CompositeController", Name: "webs"}
	p := newPermit(&cluster{err: errors.New("gone")}, rights.User{Name: "jane"}, of)
	err := p.check(t.Context(), []rights.Required{get("pods", "shop")})
	if _, triesAgain := apierrors.SuggestsClientDelay(err); !apierrors.IsServiceUnavailable(err) || !triesAgain {
		t.Errorf("error is %v, want one that the client tries again after", err)
	}
}

func TestARefusalNamesTheMissingRights(t *testing.T) {
	p := newPermit(&cluster{rules: []string{"get pods *"}}, rights.User{Name: "jane", Groups: []string{"devs"}}, v1alpha1.SyncReviewController{Kind: "CompositeController", Name: "webs"})
	err := p.check(t.Context(), []rights.Required{get("pods", "shop"), get("secrets", "shop")})
	const want = `syncreviews.metacontroller.k8s.io "webs" is forbidden: ` +
		`a review shows only objects that its author may read, ` +
		`and user "jane" (groups=["devs"]) lacks permissions to read some of them
# missing permissions in a Role of namespace "shop":
rules:
- apiGroups: [""] # for its children
  resources: ["secrets"]
  verbs: ["get"]`
	if err == nil || !apierrors.IsForbidden(err) {
		t.Fatalf("error is %v", err)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}
