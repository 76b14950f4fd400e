// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hosttest"
)

// reviews are how the host answers about the rights of service accounts.
type reviews struct {
	mu sync.Mutex
	// refused is a resource that no account may read, and err is why the host does not answer about
	// unanswered.
	refused, unanswered string
	err                 error
	// slow is a user about whom the host answers when answer is closed. Waits counts those who wait for that,
	// and gaveUp those who have waited in vain.
	slow          string
	answer        chan struct{}
	waits, gaveUp atomic.Int32
}

func (r *reviews) Create(
	ctx context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	r.mu.Lock()
	if r.slow == review.Spec.User {
		answer := r.answer
		r.mu.Unlock()
		r.waits.Add(1)
		defer r.waits.Add(-1)
		select {
		case <-answer:
		case <-ctx.Done():
			r.gaveUp.Add(1)
			return nil, ctx.Err()
		}
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	of := review.Spec.ResourceAttributes.Resource
	if of == r.unanswered {
		return nil, r.err
	}
	review = review.DeepCopy()
	review.Status.Allowed = of != r.refused
	return review, nil
}

func (r *reviews) set(change func(*reviews)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

// actingAs makes a controller act as a service account.
func actingAs(object *v1alpha1.CompositeController) *v1alpha1.CompositeController {
	object.Spec.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}
	return object
}

// runs reports whether a controller runs for an object.
func (f *fixture) runs(name string) bool { return f.state(name).getRunning() != nil }

func TestAControllerWhoseAccountMayNotReadAChildTypeDoesNotStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.reviews.set(func(r *reviews) { r.refused = "pods" })
	f.create(t, actingAs(controllerOf("webs", "v1 pods")))
	f.untilReady(t, "webs", "False Forbidden: service account shop/websites lacks rights to read", "# missing in a ClusterRole:\nrules:\n- apiGroups: [\"\"] # for its children\n  resources: [\"pods\"]\n  verbs: [\"list\", \"watch\"]")
	if f.runs("webs") {
		t.Error("it runs")
	}
	f.update(t, "webs", func(object *v1alpha1.CompositeController) { object.Spec.ServiceAccount = nil })
	f.untilReady(t, "webs", "True Running")
}

func TestASpecWhoseAccountLacksARightStopsTheControllerOfTheFormerSpec(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.reviews.set(func(r *reviews) { r.refused = "namespaces" })
	f.create(t, actingAs(controllerOf("webs", "v1 pods")))
	f.untilReady(t, "webs", "True Running")
	f.update(t, "webs", func(object *v1alpha1.CompositeController) {
		object.Spec.ChildResources[0].ResourceRule = rules("v1 namespaces")[0]
	})
	f.untilReady(t, "webs", "False Forbidden", "namespaces")
	if f.runs("webs") {
		t.Error("the former spec runs")
	}
}

func TestTheFormerSpecRunsWhileTheClusterCannotBeAskedAboutANewRight(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.reviews.set(func(r *reviews) { r.unanswered, r.err = "namespaces", errors.New("connection refused") })
	f.create(t, actingAs(controllerOf("webs", "v1 pods")))
	f.untilReady(t, "webs", "True Running")
	f.update(t, "webs", func(object *v1alpha1.CompositeController) {
		object.Spec.ChildResources[0].ResourceRule = rules("v1 namespaces")[0]
	})
	f.untilReady(t, "webs", "False ClusterUnreachable: the cluster cannot be asked what service account shop/websites may read",
		"connection refused", "the controller still runs as its last working spec said")
	f.reviews.set(func(r *reviews) { r.unanswered = "" })
	f.untilReady(t, "webs", "True Running")
}

func TestAControllerStopsWhenARightIsWithdrawn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, actingAs(controllerOf("webs", "v1 pods")))
	f.untilReady(t, "webs", "True Running")
	f.reviews.set(func(r *reviews) { r.refused = "pods" })
	f.untilReady(t, "webs", "False Forbidden", "pods")
	if f.runs("webs") {
		t.Error("it runs")
	}
}

func TestAControllerGoesOnForAMinuteWhileTheClusterCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &reviews{}
		events, err := report.NewEvents(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer events.Shutdown()
		r := &Reconciler{Dependencies: hosted.Dependencies{Events: events, Permissions: permissions.New(cluster)}}
		ctx, stop := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		asking.Go(func() { r.Permissions.Run(ctx) })
		defer asking.Wait()
		defer stop()

		object, stopped, changed := actingAs(controllerOf("webs", "v1 pods")), false, make(chan struct{}, 10)
		pods := permissions.ToShow(hosttest.Pods(), nil, "its children")
		state := &controllerState{name: "webs"}
		state.setRunning(&running{
			object: object, stop: func() { stopped = true },
			required: r.Permissions.Require(object.Spec.ServiceAccount, pods, func() { changed <- struct{}{} }),
		})
		r.stopIfRefused(ctx, state)
		answered := time.Now()
		cluster.set(func(r *reviews) { r.unanswered, r.err = "pods", errors.New("connection refused") })
		<-time.After(permissions.Patience - time.Second)
		if r.stopIfRefused(ctx, state); stopped {
			t.Error("it stops before the patience has passed")
		}
		<-changed
		if r.stopIfRefused(ctx, state); !stopped || state.getRunning() != nil {
			t.Errorf("it still runs %s after the last answer", time.Since(answered))
		}
	})
}
