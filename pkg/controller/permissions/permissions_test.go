// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

// host answers reviews.
type host struct {
	mu sync.Mutex
	// allows are the rights that it allows to everybody: "<verb> <resource>".
	allows  sets.Set[string]
	err     error
	hangs   bool
	reviews []authorizationv1.SubjectAccessReviewSpec
}

func (c *host) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reviews = append(c.reviews, review.Spec)
	if c.hangs {
		c.mu.Unlock()
		<-ctx.Done()
		c.mu.Lock()
		return nil, context.Cause(ctx)
	}
	if c.err != nil {
		return nil, c.err
	}
	of := review.Spec.ResourceAttributes
	review = review.DeepCopy()
	review.Status.Allowed = c.allows.Has(of.Verb + " " + of.Resource)
	return review, nil
}

// change changes what the cluster answers from now on.
func (c *host) change(change func(*host)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

func (c *host) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.reviews)
}

var websites = &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}

func typeOf(resource string) object.Type {
	return object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Namespaced: true}
}

// started are permissions that run until the test ends.
func started(t *testing.T, cluster *host) *Permissions { return startedAt(t, cluster) }

func startedAt(t *testing.T, cluster rights.Reviews) *Permissions {
	t.Helper()
	p := New(cluster)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return p
}

// required is a requirement of rights to pods that notes when it is told.
type required struct {
	*Requirement
	told chan time.Time
}

func toPods(t *testing.T, p *Permissions) *required {
	r := &required{told: make(chan time.Time, 100)}
	r.Requirement = p.Require(websites, ToShow(typeOf("pods"), nil, "its children"), func() { r.told <- time.Now() })
	t.Cleanup(r.Close)
	return r
}

// missing returns the verbs that a check misses.
func (r *required) missing(t *testing.T) string {
	t.Helper()
	err := r.Check(t.Context())
	if err == nil {
		return ""
	}
	refusal, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("the error is %T: %v", err, err)
	}
	if !refusal.IsForbidden() {
		return "unknown"
	}
	var verbs []string
	for _, one := range refusal.Missing {
		verbs = append(verbs, one.Verb)
	}
	return strings.Join(verbs, ",")
}

func allowing(rights ...string) *host { return &host{allows: sets.New(rights...)} }

func TestTheClusterIsAskedAboutTheHolderOfTheAccountsToken(t *testing.T) {
	cluster := allowing("list pods")
	p := New(cluster)
	requirement := p.Require(websites, ToShow(typeOf("pods"), []string{"shop"}, "its children"), func() {})
	defer requirement.Close()
	err := requirement.Check(t.Context())
	const want = "service account shop/websites lacks permissions to read objects that the controller needs; bind a role with these rules to it: the controller continues within a minute\n" +
		`# missing permissions in a Role of namespace "shop":
rules:
- apiGroups: [""] # for its children
  resources: ["pods"]
  verbs: ["watch"]`
	if err == nil || err.Error() != want {
		t.Errorf("the error is:\n%v\nwant:\n%s", err, want)
	}
	for _, review := range cluster.reviews {
		if review.User != "system:serviceaccount:shop:websites" ||
			!slices.Equal(review.Groups, []string{"system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"}) {
			t.Errorf("asked about %+v", review)
		}
	}
}

func TestAThousandRequirementsOfAnAccountCostOneSetOfReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := allowing("list pods", "watch pods")
		p := started(t, cluster)
		var checking sync.WaitGroup
		for range 1000 {
			r := toPods(t, p)
			checking.Go(func() {
				if missing := r.missing(t); missing != "" {
					t.Errorf("%s are missing", missing)
				}
			})
		}
		checking.Wait()
		if asked := cluster.asked(); asked != 2 {
			t.Errorf("%d reviews were asked for, want 2", asked)
		}
		<-time.After(10*RefreshInterval + RefreshInterval/2)
		if asked := cluster.asked(); asked < 2*9 || asked > 2*11 {
			t.Errorf("after ten intervals, %d reviews were asked for, want 22 at most", asked)
		}
	})
}

func TestARequirementIsToldOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := allowing("list pods", "watch pods")
		r := toPods(t, started(t, cluster))
		for _, step := range []struct {
			name    string
			change  func(*host)
			missing string
		}{
			{"a right is withdrawn", func(c *host) { c.allows.Delete("watch pods") }, "watch"},
			{"the other one is, too", func(c *host) { c.allows.Delete("list pods") }, "list,watch"},
			{"both are given back", func(c *host) { c.allows.Insert("list pods", "watch pods") }, ""},
		} {
			r.missing(t)
			changed := time.Now()
			cluster.change(step.change)
			if took := (<-r.told).Sub(changed); took > 20*time.Second {
				t.Errorf("%s: it takes %s until the requirement is told", step.name, took)
			}
			synctest.Wait()
			for len(r.told) > 0 {
				<-r.told
			}
			if missing := r.missing(t); missing != step.missing {
				t.Errorf("%s: missing is %q, want %q", step.name, missing, step.missing)
			}
		}
		<-time.After(time.Hour)
		if len(r.told) > 0 {
			t.Error("it is told although nothing changes")
		}
	})
}

func TestTheLastAnswerHoldsForAMinuteWhileTheClusterCannotBeAsked(t *testing.T) {
	for name, fail := range map[string]func(*host){
		"it fails": func(c *host) { c.err = errors.New("connection refused") },
		"it hangs": func(c *host) { c.hangs = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := allowing("list pods", "watch pods")
				r := toPods(t, started(t, cluster))
				r.missing(t)
				asked := time.Now()
				cluster.change(fail)
				<-time.After(Patience - time.Second)
				if missing := r.missing(t); missing != "" || len(r.told) > 0 {
					t.Errorf("%q are missing before its patience ends", missing)
				}
				if held := (<-r.told).Sub(asked); held > Patience+RefreshInterval {
					t.Errorf("the answer holds for %s", held)
				}
				if missing := r.missing(t); missing != "unknown" {
					t.Errorf("then %q are missing", missing)
				}
				<-time.After(time.Hour)
				for len(r.told) > 0 {
					<-r.told
				}
				cluster.change(func(c *host) { c.err, c.hangs = nil, false })
				back := time.Now()
				if took := (<-r.told).Sub(back); took > 30*time.Second {
					t.Errorf("it takes %s until the requirement is told that it is met again", took)
				}
				// A review that began before may still hang.
				for missing := r.missing(t); missing != ""; missing = r.missing(t) {
					if time.Since(back) > 30*time.Second {
						t.Fatalf("%q are missing although the cluster answers again", missing)
					}
					<-time.After(tick)
				}
			})
		})
	}
}

// A cluster that hangs is slow to be asked again about many rights, so some answers become too old before.
func TestAnAnswerThatIsTooOldIsACause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := allowing()
		p := started(t, cluster)
		var requirements []*Requirement
		for i := range 50 {
			resource := fmt.Sprintf("type%d", i)
			cluster.allows.Insert("list "+resource, "watch "+resource)
			r := p.Require(websites, ToShow(typeOf(resource), nil, "its children"), func() {})
			t.Cleanup(r.Close)
			if err := r.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			requirements = append(requirements, r)
		}
		cluster.change(func(c *host) { c.hangs = true })
		<-time.After(Patience + tick)
		causes := sets.New[string]()
		for _, r := range requirements {
			refusal, ok := errors.AsType[*Error](r.Check(t.Context()))
			if !ok || refusal.Unanswered == nil || strings.Contains(refusal.Error(), "<nil>") {
				t.Fatalf("the error has no cause: %v", refusal)
			}
			causes.Insert(refusal.Unanswered.Error())
		}
		if !causes.Has("no answer for a minute") || len(causes) < 2 {
			t.Errorf("the causes are %q", sets.List(causes))
		}
	})
}

func TestAFirstAnswerThatDoesNotComeIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := allowing("list pods", "watch pods")
		cluster.err = errors.New("connection refused")
		r := toPods(t, started(t, cluster))
		if missing := r.missing(t); missing != "unknown" {
			t.Errorf("%q are missing", missing)
		}
		cluster.change(func(c *host) { c.err = nil })
		<-r.told
		<-r.told
		if missing := r.missing(t); missing != "" {
			t.Errorf("%q are missing although the cluster answers", missing)
		}
	})
}

func TestWhatNoRequirementNeedsIsNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := allowing()
		p := started(t, cluster)
		one, other := toPods(t, p), toPods(t, p)
		one.missing(t)
		one.Close()
		<-time.After(time.Hour)
		if cluster.asked() == 2 {
			t.Error("what another requirement needs is not asked for again")
		}
		other.Close()
		synctest.Wait() // a refresh may have begun at this very time
		asked := cluster.asked()
		<-time.After(time.Hour)
		if now := cluster.asked(); now != asked {
			t.Errorf("it is asked for %d times although nobody needs it", now-asked)
		}
	})
}

func TestWithoutAnAccountNothingIsRequired(t *testing.T) {
	requirement := New(allowing()).Require(nil, ToShow(typeOf("pods"), nil, "its children"), func() {})
	defer requirement.Close()
	if err := requirement.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestACheckThatIsMetAllocatesNothing(t *testing.T) {
	r := toPods(t, New(allowing("list pods", "watch pods")))
	if err := r.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	alloctest.AtMost(t, 0, func() { _ = r.Check(t.Context()) })
}

func TestJoinedErrorsAreTheSameInAnyOrder(t *testing.T) {
	of := func(resource string) *Error {
		return &Error{Account: *websites, Missing: ToShow(typeOf(resource), nil, "the answer of the customize hook")}
	}
	a := Join([]*Error{of("pods"), of("secrets"), of("pods")})
	b := Join([]*Error{of("secrets"), of("pods")})
	if a.Error() != b.Error() {
		t.Errorf("one is\n%v\nthe other\n%v", a, b)
	}
	if len(a.Missing) != 4 {
		t.Errorf("missing are %v", a.Missing)
	}
	if Join(nil) != nil {
		t.Error("no errors make one")
	}
}

func TestRightsToShow(t *testing.T) {
	nodes := typeOf("nodes")
	nodes.Namespaced = false
	for name, test := range map[string]struct {
		of         object.Type
		namespaces []string
		want       []string
	}{
		"a namespaced type in the whole cluster": {typeOf("pods"), nil, []string{""}},
		"a namespaced type in two namespaces":    {typeOf("pods"), []string{"a", "b"}, []string{"a", "b"}},
		"a cluster-scoped type":                  {nodes, []string{"a", "b"}, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			var want []rights.Right
			for _, namespace := range test.want {
				for _, verb := range []string{"list", "watch"} {
					want = append(want, rights.Right{Object: rights.Object{GroupResource: test.of.GroupResource(), Namespace: namespace}, Verb: verb})
				}
			}
			var got []rights.Right
			for _, one := range ToShow(test.of, test.namespaces, "test") {
				got = append(got, one.Right)
			}
			if !slices.Equal(got, want) {
				t.Errorf("rights are %v, want %v", got, want)
			}
		})
	}
}

// updates is the right to update pods in a namespace.
func updates(namespace string) rights.Right {
	return rights.Right{Verb: "update", Object: rights.Object{GroupResource: schema.GroupResource{Resource: "pods"}, Namespace: namespace}}
}

func TestAnOccasionalRightIsAskedForWhenItIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := allowing("update pods")
		p := started(t, cluster)
		expect := func(when string, want bool, asked int) {
			t.Helper()
			got, err := p.Allows(t.Context(), *websites, updates("shop"))
			if err != nil || got != want || cluster.asked() != asked {
				t.Errorf("%s: allowed is %t, error %v after %d reviews, want %t after %d", when, got, err, cluster.asked(), want, asked)
			}
		}
		for range 100 {
			expect("again and again", true, 1)
		}
		<-time.After(RefreshInterval)
		expect("after a while", true, 2)
		cluster.change(func(c *host) { c.allows.Delete("update pods") })
		<-time.After(RefreshInterval)
		expect("after it was withdrawn", false, 3)
		expect("right after that", false, 3)
		<-time.After(time.Hour)
		expect("after nobody has asked for long", false, 4)
		<-time.After(2 * Patience)
		if kept := len(p.inUse(func(*answer) bool { return true })); kept > 0 {
			t.Errorf("%d answers are kept that nobody needs", kept)
		}
	})
}

func TestAnOccasionalAnswerCountsForAMinuteWhileTheClusterCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := allowing("update pods")
		p := started(t, cluster)
		ask := func() error {
			allowed, err := p.Allows(t.Context(), *websites, updates("shop"))
			if err == nil && !allowed {
				t.Error("it is refused")
			}
			return err
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		down := errors.New("connection refused")
		cluster.change(func(c *host) { c.err = down })
		<-time.After(Patience - tick)
		if err := ask(); err != nil {
			t.Errorf("before its patience ends: %v", err)
		}
		<-time.After(tick)
		if err := ask(); !errors.Is(err, down) {
			t.Errorf("after its patience the error is %v", err)
		}
	})
}
