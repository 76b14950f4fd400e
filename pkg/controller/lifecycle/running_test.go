// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/fake"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hosttest"
)

// finalizing is a controller with a finalize hook.
func finalizing(name string, children ...string) *v1alpha1.CompositeController {
	object := controllerOf(name, children...)
	object.Spec.Hooks.Finalize = object.Spec.Hooks.Sync
	object.Finalizers = []string{v1alpha1.DrainFinalizer}
	object.Status.HeldResources = object.ParentTypes()
	return object
}

func TestAControllerThatStartsWithoutAChildTypeSyncsWhatIsDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, finalizing("a", "v1 pods", "v1 nonsense"))
	f.untilReady(t, "a", `False UnknownType: child type: can't find resource "nonsense"`)
	waitUntil(t, func() string { return "the controller does not run" }, func() bool { return f.runs("a") })
	spec := f.states.of("a").getRunning().spec
	if spec.Lacks == nil || len(spec.Children) != 1 || !strings.Contains(string(spec.Object), "nonsense") {
		t.Errorf("it lacks %v, its children are %v and hooks are sent %s", spec.Lacks, spec.Children, spec.Object)
	}
	f.update(t, "a", func(object *v1alpha1.CompositeController) {
		object.Spec.ChildResources = object.Spec.ChildResources[:1]
	})
	f.untilReady(t, "a", "True Running")
	if spec := f.states.of("a").getRunning().spec; spec.Lacks != nil {
		t.Errorf("with all types, it lacks %v", spec.Lacks)
	}
}

// After a restart, the parents must show what they wait for.
func TestAControllerThatHasRunStartsWithoutAChildType(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := controllerOf("a", "v1 pods", "v1 nonsense")
	before.Status.Parents = &v1alpha1.ParentCounts{Total: 1}
	f.create(t, before)
	f.untilReady(t, "a", `False UnknownType: child type: can't find resource "nonsense"`)
	waitUntil(t, func() string { return "the controller does not run" }, func() bool { return f.runs("a") })
	if spec := f.states.of("a").getRunning().spec; spec.Lacks == nil || len(spec.Children) != 1 {
		t.Errorf("it lacks %v, and its children are %v", spec.Lacks, spec.Children)
	}
}

// Its parents have no finalizer, so none hangs, and it has not synced any.
func TestAControllerWithoutAFinalizeHookDoesNotStartWithoutAChildType(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, controllerOf("a", "v1 pods", "v1 nonsense"))
	f.untilReady(t, "a", "False UnknownType")
	if f.runs("a") {
		t.Error("the controller runs")
	}
}

func TestATypeIsRemovedFromADecorator(t *testing.T) {
	of := &v1alpha1.DecoratorController{}
	for _, rule := range rules("v1 pods", "v1 nonsense") {
		of.Spec.Resources = append(of.Spec.Resources, v1alpha1.DecoratorControllerResourceRule{ResourceRule: rule})
		of.Spec.Attachments = append(of.Spec.Attachments, v1alpha1.DecoratorControllerAttachmentRule{ResourceRule: rule})
	}
	removeType(of, rules("v1 nonsense")[0])
	if len(of.Spec.Resources) != 1 || len(of.Spec.Attachments) != 1 || of.Spec.Resources[0].Resource != "pods" {
		t.Errorf("it is for %v, with %v", of.Spec.Resources, of.Spec.Attachments)
	}
}

func TestAControllerRunsOnWithoutAChildType(t *testing.T) {
	t.Parallel()
	f := makeFixture(t, fake.NewSimpleClientset())
	f.create(t, finalizing("a", "v1 pods"))
	waitUntil(t, func() string { return "the controller does not run" }, func() bool {
		_, _ = f.reconcile(t.Context(), "a")
		return f.runs("a")
	})
	defer f.endAll(t.Context())
	state := f.states.of("a")
	running := state.getRunning()
	// As if the host had lost the type, the spec that runs cannot be resolved any more.
	lacking := finalizing("a", "v1 pods", "v1 nonsense")
	running.object = lacking
	_, err := f.api.resolve(t.Context(), f.Discovery, lacking)
	f.cannotRun(t.Context(), state, lacking, err)
	if state.getRunning() != running || !state.lacksType {
		t.Error("another controller runs, or none")
	}
	if state.problem.RunningGeneration != 0 {
		t.Errorf("an earlier spec is said to run, of generation %d", state.problem.RunningGeneration)
	}
	lacking.Spec.ParentResource.Resource = "nothing"
	_, err = f.api.resolve(t.Context(), f.Discovery, lacking)
	if f.cannotRun(t.Context(), state, lacking, err); state.getRunning() != nil {
		t.Error("the controller runs without the type of its parents")
	}
}

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
func (f *fixture) runs(name string) bool { return f.states.of(name).getRunning() != nil }

func TestAControllerWhoseAccountMayNotReadAChildTypeDoesNotStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.reviews.set(func(r *reviews) { r.refused = "pods" })
	f.create(t, actingAs(controllerOf("webs", "v1 pods")))
	f.untilReady(t, "webs", "False Forbidden: service account shop/websites lacks permissions to read", "# missing "+
		"permissions in a ClusterRole:\nrules:\n- apiGroups: [\"\"] # for its children\n  resources: [\"pods\"]\n  verbs: "+
		"[\"list\", \"watch\"]")
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
	f.untilReady(t, "webs", "False ClusterUnreachable: cannot check which objects service account shop/websites may read",
		"connection refused", "the controller still runs with its last working spec")
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
		r := &Reconciler{Dependencies: parentcontroller.Dependencies{Events: events, Permissions: permissions.New(cluster)}}
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

const pods, visits = "v1 pods", "ctl.example/v1 visits"

// addVisits adds a child type.
func addVisits(object *v1alpha1.CompositeController) {
	object.Spec.ChildResources = append(object.Spec.ChildResources, v1alpha1.CompositeControllerChildResourceRule{ResourceRule: rules(visits)[0]})
}

// waitsToReplace waits until a controller is prepared to replace the one that runs, which it
// returns.
func (f *fixture) waitsToReplace(t *testing.T, name string) *running {
	t.Helper()
	state := f.states.of(name)
	waitUntil(t, func() string { return "nothing is prepared" }, func() bool { return state.getPrepared() != nil })
	return state.getRunning()
}

func (f *fixture) runningGeneration(t *testing.T, name string) int64 {
	t.Helper()
	object, err := f.api.getLive(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return object.GetStatus().RunningGeneration
}

func TestAControllerRunsOnUntilTheNextOneSeesItsTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		does behaviour
		says []string
	}{
		"the cluster refuses to list one": {forbids, []string{"False WatchFailed: the server cannot list " +
			"Visit.ctl.example/v1: ", "visits is forbidden"}},
		"the cluster does not end the list": {hangs, []string{"False TypesNotListed: the cluster has not completed its " +
			"response to the list of Visit.ctl.example/v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it takes a while until that is told
			f := newFixture(t)
			f.create(t, controllerOf("shop", pods))
			f.untilReady(t, "shop", "True Running")
			f.host.set("visits", test.does)
			before := f.states.of("shop").getRunning()
			f.update(t, "shop", addVisits)
			if f.waitsToReplace(t, "shop") != before {
				t.Error("another one runs")
			}
			f.untilReady(t, "shop", test.says[0], append(test.says, "still runs")...)
			if got, want := f.runningGeneration(t, "shop"), before.object.GetGeneration(); got != want || want == 0 {
				t.Errorf("the status says that generation %d runs, want %d", got, want)
			}
			if f.states.of("shop").getRunning() != before {
				t.Error("the one that ran before is stopped")
			}
			f.host.set("visits", streams)
			f.untilReady(t, "shop", "True Running")
			if got := f.runningGeneration(t, "shop"); got != 0 {
				t.Errorf("the status says that an earlier generation runs, %d", got)
			}
			if now := f.states.of("shop"); now.getRunning() == before || now.getPrepared() != nil {
				t.Error("the next one does not replace the one that ran before")
			}
		})
	}
}

func TestWhatWasPreparedIsDroppedWhenItIsNoLongerWanted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(t *testing.T, f *fixture)
		ready   string
		// runsOn is true if the controller that runs is the right one.
		runsOn bool
	}{
		"the spec is as before again": {func(t *testing.T, f *fixture) {
			f.update(t, "shop", func(object *v1alpha1.CompositeController) {
				object.Spec.ChildResources = object.Spec.ChildResources[:1]
			})
		}, "True Running", true},
		"the spec changes once more": {func(t *testing.T, f *fixture) {
			f.update(t, "shop", func(object *v1alpha1.CompositeController) { object.Spec.ChildResources = nil })
		}, "True Running", false},
		"the spec has become invalid": {func(t *testing.T, f *fixture) {
			f.update(t, "shop", func(object *v1alpha1.CompositeController) { object.Spec.Hooks = nil })
		}, "False InvalidSpec", true},
		"the object is gone": {func(t *testing.T, f *fixture) {
			if err := f.own.MetacontrollerV1alpha1().CompositeControllers().Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}, "", false},
		"the object is being deleted": {func(t *testing.T, f *fixture) {
			f.update(t, "shop", func(object *v1alpha1.CompositeController) {
				now := metav1.Now()
				object.DeletionTimestamp = &now
			})
		}, "False Deleting", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create(t, controllerOf("shop", pods))
			f.untilReady(t, "shop", "True Running")
			f.host.set("visits", forbids)
			f.update(t, "shop", addVisits)
			before, state := f.waitsToReplace(t, "shop"), f.states.of("shop")
			test.happens(t, f)
			waitUntil(t, func() string { return "it is still prepared" }, func() bool { return state.getPrepared() == nil })
			if test.ready != "" {
				f.untilReady(t, "shop", test.ready)
			}
			if now := state.getRunning(); test.runsOn != (now == before) {
				t.Errorf("the one that ran before runs on: %v, want %v", now == before, test.runsOn)
			}
		})
	}
}

func TestAControllerIsNotReadyBeforeItSeesItsTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		does behaviour
		says []string
	}{
		"the cluster refuses to list one": {forbids, []string{"False WatchFailed: the server cannot list " +
			"Visit.ctl.example/v1: ", "visits is forbidden"}},
		"the cluster does not end the list": {hangs, []string{"False TypesNotListed: the cluster has not completed its " +
			"response to the list of Visit.ctl.example/v1"}},
		"the host cannot send what it watches": {breaks, []string{"False WatchFailed", "Visit.ctl.example/v1", "conversion webhook failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it takes a while until that is told
			f := newFixture(t)
			f.host.set("visits", test.does)
			f.create(t, controllerOf("shop", pods, visits))
			f.untilReady(t, "shop", test.says[0], test.says...)
			if written := f.written(); slices.Contains(written, metav1.ConditionTrue) {
				t.Errorf("Ready was %v", written)
			}
			f.host.set("visits", streams)
			f.untilReady(t, "shop", "True Running")
		})
	}
}

func TestAStartWritesTheStatusOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, controllerOf("shop", pods, visits))
	f.untilReady(t, "shop", "True Running")
	if written := f.written(); len(written) != 1 {
		t.Errorf("Ready was written %d times: %v", len(written), written)
	}
}

// written returns the condition Ready of each status that was written.
func (f *fixture) written() (ready []metav1.ConditionStatus) {
	for _, action := range f.own.Actions() {
		if update, ok := action.(clienttesting.UpdateAction); ok && action.GetSubresource() == "status" {
			conditions := update.GetObject().(*v1alpha1.CompositeController).Status.Conditions
			ready = append(ready, meta.FindStatusCondition(conditions, v1alpha1.ConditionReady).Status)
		}
	}
	return ready
}
