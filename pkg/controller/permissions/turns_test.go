// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// slowHost allows everything. It takes a second for each review, and hangs for reviews about a user.
type slowHost struct {
	mu       sync.Mutex
	hangsFor string
}

func (c *slowHost) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	c.mu.Lock()
	takes := time.Second
	if review.Spec.User == c.hangsFor {
		takes = time.Hour
	}
	c.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	review = review.DeepCopy()
	review.Status.Allowed = true
	return review, nil
}

// hangFor has the host hang for an account from now on.
func (c *slowHost) hangFor(account *v1alpha1.ServiceAccountReference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hangsFor = account.Username()
}

// rightsTo are the rights to show many types.
func rightsTo(count int) (required []rights.Required) {
	for i := range count {
		required = append(required, ToShow(typeOf(fmt.Sprintf("type%d", i)), nil, "its children")...)
	}
	return required
}

var greedy = &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "greedy"}

func (p *Permissions) requires(t *testing.T, account *v1alpha1.ServiceAccountReference, required []rights.Required, changed func()) *Requirement {
	r := p.Require(account, required, changed)
	t.Cleanup(r.Close)
	return r
}

func TestAnAccountWithManyRightsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startedAt(t, &slowHost{})
		many := p.requires(t, greedy, rightsTo(500), func() {})
		go func() { _ = many.Check(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		if err := p.requires(t, websites, rightsTo(1), func() {}).Check(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it takes %s until another account is known to have its rights", took)
		}
	})
}

// What hangs for one account would otherwise make the answers about all others too old to count.
func TestAnAccountThatTheClusterHangsForDoesNotStopOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &slowHost{}
		p := startedAt(t, cluster)
		if err := p.requires(t, greedy, rightsTo(100)[:36], func() {}).Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		told := false
		other := p.requires(t, websites, rightsTo(1), func() { told = true })
		if err := other.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		cluster.hangFor(greedy)
		for range 600 {
			<-time.After(time.Second)
			if err := other.Check(t.Context()); err != nil || told {
				t.Fatalf("the other account is told of a change (%t), and its rights are unknown: %v", told, err)
			}
		}
	})
}

func TestACheckWaitsForSoLongOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startedAt(t, &slowHost{})
		told := make(chan time.Time, 1000)
		r := p.requires(t, websites, rightsTo(50), func() { told <- time.Now() })
		began := time.Now()
		err := r.Check(t.Context())
		if took := time.Since(began); took > reviewTimeout {
			t.Errorf("it waits for %s", took)
		}
		if refusal, ok := errors.AsType[*Error](err); !ok || refusal.IsForbidden() {
			t.Errorf("the error is %v", err)
		}
		for err != nil { // 100 rights at four a second
			select {
			case <-told:
			case <-time.After(time.Minute):
				t.Fatal("it is not told that all have been asked for")
			}
			err = r.Check(t.Context())
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it takes %s until it is met", took)
		}
	})
}

func TestWhoEndsWaitingGivesItsTurnToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		for range parallelReviewsOfAccount {
			turns.take(t.Context(), *greedy)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { ended <- turns.take(ctx, *greedy) }()
		synctest.Wait()
		cancel()
		if <-ended {
			t.Error("it was given a turn that was not free")
		}
		for range parallelReviewsOfAccount {
			turns.giveBack(*greedy)
		}
		if turns.taken != 0 || len(turns.takenBy) != 0 || len(turns.waiting) != 0 {
			t.Errorf("%d turns are taken, %v, and %d wait", turns.taken, turns.takenBy, len(turns.waiting))
		}
	})
}
