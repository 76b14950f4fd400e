// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

type object = harness.Object

// next is the path under which the hook of a fixture answers as its author wants it to next.
const next = "/next"

// fixture is a controller whose hook is about to be changed.
type fixture struct {
	harness.Fixture
	// now and then are the hooks before and after the change.
	now, then atomic.Pointer[hook.Handler]
	// kinds are the kinds of the objects that are written, by their resources.
	kinds map[string]string
}

func prepare(t *testing.T, now, then hook.Handler) *fixture {
	t.Helper()
	f := &fixture{kinds: map[string]string{"configmaps": "ConfigMap", "secrets": "Secret"}}
	f.now.Store(&now)
	f.then.Store(&then)
	server := hook.Serve(t, func(ctx context.Context, call hook.Call) hook.Answer {
		handler := *f.now.Load()
		if path, isNext := strings.CutPrefix(call.Path, next); isNext {
			call.Path, handler = path, *f.then.Load()
		}
		return handler(ctx, call)
	})
	f.Fixture = harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, server)
	f.kinds[f.Parents.Resource] = "Thing"
	return f
}

// change changes the hook: it answers as it was previewed.
func (f *fixture) change() { f.now.Store(f.then.Load()) }

// reviewed returns the controller of the fixture as reviews name it.
func (f *fixture) reviewed() v1alpha1.SyncReviewController {
	kind := "CompositeController"
	if f.Controller.Resource == "decoratorcontrollers" {
		kind = "DecoratorController"
	}
	return v1alpha1.SyncReviewController{Kind: kind, Name: f.Controller.Name}
}

// of is the spec of a review of one parent.
func (f *fixture) of(parent string) v1alpha1.SyncReviewSpec {
	return v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Parent: &v1alpha1.SyncReviewParent{Namespace: f.Namespace, Name: parent}}
}

// review returns the answer to a review.
func (f *fixture) review(spec v1alpha1.SyncReviewSpec) *v1alpha1.SyncReviewStatus {
	f.Helper()
	review, err := env.Metacontroller.MetacontrollerV1alpha1().SyncReviews().Create(f.Context(), &v1alpha1.SyncReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("the review is refused: %v", err)
	}
	return &review.Status
}

// candidate returns the spec of the fixture's controller with the hooks after the change.
func (f *fixture) candidate() *runtime.RawExtension {
	f.Helper()
	var spec any
	client := env.Metacontroller.MetacontrollerV1alpha1()
	if f.reviewed().Kind == "CompositeController" {
		controller, err := client.CompositeControllers().Get(f.Context(), f.Controller.Name, metav1.GetOptions{})
		if err != nil {
			f.Fatal(err)
		}
		spec = controller.Spec
	} else {
		controller, err := client.DecoratorControllers().Get(f.Context(), f.Controller.Name, metav1.GetOptions{})
		if err != nil {
			f.Fatal(err)
		}
		spec = controller.Spec
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		f.Fatal(err)
	}
	base := f.Hook.URL("")
	return &runtime.RawExtension{Raw: []byte(strings.ReplaceAll(string(raw), base+"/", base+next+"/"))}
}

// answerLocally reviews without calls of the server: it calls the hook after the change itself, as a client on a
// developer's machine does, until no answer is missing.
func (f *fixture) answerLocally(spec v1alpha1.SyncReviewSpec) *v1alpha1.SyncReviewStatus {
	f.Helper()
	spec.Calls = v1alpha1.SyncReviewCallsNone
	for range 5 {
		status := f.review(spec)
		missing := false
		for _, sync := range status.Syncs {
			for _, call := range sync.Calls {
				if call.Source != v1alpha1.ReviewedSourceMissing {
					continue
				}
				missing = true
				answer := (*f.then.Load())(f.Context(), hook.Call{Path: "/" + call.Hook, Header: http.Header{}, Body: call.Request.Raw})
				spec.Responses = append(spec.Responses, v1alpha1.SyncReviewResponse{
					Hook: call.Hook, Revision: call.Revision, Response: runtime.RawExtension{Raw: answer.Body},
					Parent: &v1alpha1.SyncReviewParent{Namespace: sync.Parent.Namespace, Name: sync.Parent.Name},
				})
			}
		}
		if !missing {
			return status
		}
	}
	f.Fatal("answers are missing after five rounds")
	return nil
}

// verbs are the requests that steps lead to.
var verbs = map[v1alpha1.ReviewedOperation]string{
	v1alpha1.ReviewedCreate: "create", v1alpha1.ReviewedUpdate: "update", v1alpha1.ReviewedApply: "patch", v1alpha1.ReviewedDelete: "delete",
	v1alpha1.ReviewedRecreate: "delete", v1alpha1.ReviewedAdopt: "patch", v1alpha1.ReviewedRelease: "patch",
	v1alpha1.ReviewedToServerSideApply: "patch", v1alpha1.ReviewedToDynamicApply: "patch",
	v1alpha1.ReviewedUpdateStatus: "update status", v1alpha1.ReviewedUpdateMetadata: "update", v1alpha1.ReviewedUpdateFinalizers: "update",
}

// requests returns the requests to the host that a review announces, as the audit log shows them.
func requests(t *testing.T, status *v1alpha1.SyncReviewStatus) []string {
	t.Helper()
	lines := []string{}
	for _, sync := range status.Syncs {
		if sync.Error != "" {
			t.Errorf("the sync of %s would fail: %s", sync.Parent.Name, sync.Error)
		}
		for _, step := range sync.Steps {
			if step.Kind == "ControllerRevision" {
				continue // the host does not see it
			}
			lines = append(lines, fmt.Sprintf("%s %s %s", verbs[step.Operation], step.Kind, step.Name))
		}
	}
	slices.Sort(lines)
	return lines
}

// events is the resource of events.
const events = "events"

// writes returns the writes of our server to the host since a position, but for dry runs and for those of some
// resources. A conflict is no write: both the sync of a parent and the search for all parents with a finalizer may
// want to take it off, and the host lets one of them.
func (f *fixture) writes(from hostcluster.Position, without ...string) []string {
	f.Helper()
	lines := []string{}
	for _, event := range env.AuditEvents(f, from, hostcluster.Request{Verbs: hostcluster.Writes(), Namespace: f.Namespace}) {
		if strings.Contains(event.RequestURI, "dryRun=All") || slices.Contains(without, event.ObjectRef.Resource) ||
			event.ResponseStatus.Code == http.StatusConflict {
			continue
		}
		words := []string{event.Verb}
		if event.ObjectRef.Subresource != "" {
			words = append(words, event.ObjectRef.Subresource)
		}
		kind := f.kinds[event.ObjectRef.Resource]
		if kind == "" {
			kind = event.ObjectRef.Resource
		}
		lines = append(lines, strings.Join(append(words, kind, event.ObjectRef.Name), " "))
	}
	slices.Sort(lines)
	return lines
}

// expectNothing checks that nothing but dry runs has come to the host since a position: no write, no
// status and no event. The syncs of the parents have ended by then.
func (f *fixture) expectNothing(from hostcluster.Position, parents ...string) {
	f.Helper()
	for _, parent := range parents {
		f.Settle(parent)
	}
	if lines := f.writes(from); len(lines) > 0 {
		f.Errorf("a preview has written: %q", lines)
	}
}

// expectWrites waits until our server has written what was announced, and checks that it writes nothing more.
func (f *fixture) expectWrites(from hostcluster.Position, want []string, parents ...string) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		if diff := cmp.Diff(want, f.writes(from, events)); diff != "" {
			return fmt.Errorf("writes (-announced +made):\n%s", diff)
		}
		return nil
	})
	for _, parent := range parents {
		f.Settle(parent)
	}
	if diff := cmp.Diff(want, f.writes(from, events)); diff != "" {
		f.Errorf("writes (-announced +made):\n%s", diff)
	}
}

// applied sets the engine and the method of all types of children.
func applied(engine v1alpha1.ChildApplyStrategy, method v1alpha1.ChildUpdateMethod) harness.CompositeChange {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		for i := range spec.ChildResources {
			strategy := ptr.Deref(spec.ChildResources[i].UpdateStrategy, v1alpha1.CompositeControllerChildUpdateStrategy{})
			strategy.Apply, strategy.Method = &engine, &method
			spec.ChildResources[i].UpdateStrategy = &strategy
		}
	}
}

// raw returns a value as a part of a review.
func raw(t *testing.T, value any) *runtime.RawExtension {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.RawExtension{Raw: encoded}
}

// expectRequests checks the requests to the host that a review announces.
func (f *fixture) expectRequests(when string, want []string, spec v1alpha1.SyncReviewSpec) {
	f.Helper()
	status := f.review(spec)
	if diff := cmp.Diff(want, requests(f.T, status)); diff != "" {
		f.Errorf("%s, announced are (-want +got):\n%s\n%+v", when, diff, status.Syncs)
	}
}

// eventually is expectRequests for a state that the caches may not show yet.
func (f *fixture) eventually(when string, want []string, spec v1alpha1.SyncReviewSpec) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		if diff := cmp.Diff(want, requests(f.T, f.review(spec))); diff != "" {
			return fmt.Errorf("%s, announced are (-want +got):\n%s", when, diff)
		}
		return nil
	})
}

// pause pauses a parent, or ends that.
func (f *fixture) pause(parent string, paused bool) {
	f.Helper()
	var value any
	if paused {
		value = "true"
	}
	f.PatchParent(parent, object{"metadata": object{"annotations": object{v1alpha1.PausedAnnotation: value}}})
}

// isLeaving checks that a parent is being deleted.
func isLeaving(parent *unstructured.Unstructured) error {
	if parent.GetDeletionTimestamp() == nil {
		return fmt.Errorf("%s is not being deleted", parent.GetName())
	}
	return nil
}

// matching is a selector for a label.
func matching(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// waitForSecret waits until there is a Secret.
func (f *fixture) waitForSecret(name string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		_, err := env.Kube.CoreV1().Secrets(f.Namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
}
