// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// cluster allows what its rules allow: "<verb> <resource>".
type cluster struct {
	rules   []string
	trouble string
	err     error

	mu             sync.Mutex
	specs          []authorizationv1.SubjectAccessReviewSpec
	running, most  int
	takesOneSecond bool
}

func (c *cluster) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	c.enter(review.Spec)
	defer c.leave()
	if c.takesOneSecond {
		<-time.After(time.Second)
	}
	if c.err != nil {
		return nil, c.err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	of := review.Spec.ResourceAttributes
	review = review.DeepCopy()
	review.Status.EvaluationError = c.trouble
	review.Status.Allowed = slices.Contains(c.rules, of.Verb+" "+of.Resource)
	return review, nil
}

func (c *cluster) enter(spec authorizationv1.SubjectAccessReviewSpec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.specs = append(c.specs, spec)
	c.running++
	c.most = max(c.most, c.running)
}

func (c *cluster) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

// questions are "<verb> <resource>", in alphabetical order.
func (c *cluster) questions() []string {
	var asked []string
	for _, spec := range c.specs {
		asked = append(asked, spec.ResourceAttributes.Verb+" "+spec.ResourceAttributes.Resource)
	}
	slices.Sort(asked)
	return asked
}

// require returns the required rights that read "<verb>,<verb> <resource>".
func require(texts ...string) []Required {
	var required []Required
	for _, text := range texts {
		verbs, resource, _ := strings.Cut(text, " ")
		for verb := range strings.SplitSeq(verbs, ",") {
			required = append(required, Required{Right: Right{Object{GroupResource: schema.GroupResource{Resource: resource}}, verb}, For: "spec." + resource})
		}
	}
	return required
}

func TestMissing(t *testing.T) {
	for name, test := range map[string]struct {
		rules, required, missing, asked []string
	}{
		"nothing is required": {},
		"a rule for all verbs settles three verbs by one question": {
			rules: []string{"* pods"}, required: []string{"get,list,watch pods"}, asked: []string{"* pods"},
		},
		"two verbs are asked for at once": {
			rules: []string{"get pods", "list pods"}, required: []string{"get,list pods"}, asked: []string{"get pods", "list pods"},
		},
		"without a rule for all verbs, each is asked for": {
			rules: []string{"get pods", "watch pods"}, required: []string{"get,list,watch pods"}, missing: []string{"list pods"},
			asked: []string{"* pods", "get pods", "list pods", "watch pods"},
		},
		"what is required twice is asked for once, and missing twice": {
			required: []string{"get pods", "get pods"}, missing: []string{"get pods", "get pods"}, asked: []string{"get pods"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &cluster{rules: test.rules}
			missing, err := NewReviewer(cluster, User{}).Missing(t.Context(), require(test.required...))
			if err != nil || !slices.Equal(missing, require(test.missing...)) {
				t.Errorf("missing are %v and %v, want %v", missing, err, test.missing)
			}
			if asked := cluster.questions(); !slices.Equal(asked, test.asked) {
				t.Errorf("asked for %q, want %q", asked, test.asked)
			}
		})
	}
}

func TestTheClusterIsToldAllThatIsKnown(t *testing.T) {
	cluster := &cluster{trouble: `clusterrole "gone" not found`}
	reviewer := NewReviewer(cluster, User{Name: "jane", UID: "7", Groups: []string{"authors"}, Extra: map[string][]string{"scopes": {"a", "b"}}})
	allowed, err := reviewer.Allows(t.Context(), Right{Object{
		GroupResource: schema.GroupResource{Group: "apps", Resource: "deployments"}, Subresource: "scale", Namespace: "shop", Name: "web",
	}, "get"})
	if allowed || err != nil {
		t.Errorf("allowed is %t, error is %v", allowed, err)
	}
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "jane", UID: "7", Groups: []string{"authors"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"a", "b"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: "apps", Version: "*", Resource: "deployments", Subresource: "scale", Namespace: "shop", Name: "web", Verb: "get",
		},
	}
	if len(cluster.specs) != 1 || !reflect.DeepEqual(cluster.specs[0], want) {
		t.Errorf("asked %+v\nwant %+v", cluster.specs, want)
	}
	if troubles := reviewer.Troubles(); !slices.Equal(troubles, []string{cluster.trouble}) {
		t.Errorf("troubles are %q", troubles)
	}
}

func TestTheErrorOfTheClusterEndsTheQuestion(t *testing.T) {
	gone := errors.New("connection refused")
	if _, err := NewReviewer(&cluster{err: gone}, User{}).Missing(t.Context(), require("get,list,watch pods", "get,list,watch services")); !errors.Is(err, gone) {
		t.Errorf("error is %v, want %v", err, gone)
	}
}

func TestFewReviewsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &cluster{takesOneSecond: true}
		var required []string
		for i := range 100 {
			required = append(required, fmt.Sprintf("get type%d", i))
		}
		if _, err := NewReviewer(cluster, User{}).Missing(t.Context(), require(required...)); err != nil {
			t.Fatal(err)
		}
		if cluster.most != 8 {
			t.Errorf("%d reviews ran at once, want 8", cluster.most)
		}
	})
}
