// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// relating asks for a Secret by its customize hook, and answers a child with what it is shown of it.
func relating(t *testing.T, key string) hook.Handler {
	return hook.Answering(t, func(asked hook.CompositeRequest) object {
		if asked.Related == nil {
			return object{"relatedResources": []object{{"apiVersion": "v1", "resource": "secrets", "names": []string{"source"}}}}
		}
		var children []object
		for _, related := range asked.Related["Secret.v1"] {
			data, _, _ := unstructured.NestedString(related, "data", "value")
			children = append(children, object{
				"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": asked.Parent.GetName()}, "data": object{key: data},
			})
		}
		return object{"status": object{}, "children": children}
	})
}

func related(t *testing.T, key, nextKey string) *fixture {
	t.Helper()
	f := prepare(t, relating(t, key), relating(t, nextKey))
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "source"}, Data: map[string][]byte{"value": []byte(password)}}
	if _, err := env.Kube.CoreV1().Secrets(f.Namespace).Create(t.Context(), source, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	spec := f.CompositeSpec()
	spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{harness.ChildRule("v1", "secrets", v1alpha1.ChildUpdateInPlace)}
	spec.Hooks.Customize = harness.HookBeside(spec.Hooks.Sync, harness.CustomizePath)
	f.RunComposite(spec)
	f.CreateParent("a", object{})
	f.waitForSecret("a")
	f.Settle("a")
	return f
}

// password is what no answer may show, in whatever form.
const password, encodedPassword = "open sesame, says the secret", "b3BlbiBzZXNhbWUsIHNheXMgdGhlIHNlY3JldA=="

// shown is the text of an answer.
func shown(t *testing.T, status *v1alpha1.SyncReviewStatus) string {
	t.Helper()
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Secrets are shown by digests. A hook outside of the server gets these, and what it makes of them is
// planned with the values.
func TestSecretsAreShownByDigests(t *testing.T) {
	t.Parallel()
	f := related(t, "key", "other")
	from := env.AuditEnd(t)
	want := []string{"update Secret a"}
	candidate := f.of("a")
	candidate.Candidate = f.candidate()
	for way, status := range map[string]*v1alpha1.SyncReviewStatus{"with a candidate": f.review(candidate), "with given answers": f.answerLocally(f.of("a"))} {
		if diff := cmp.Diff(want, requests(t, status)); diff != "" {
			t.Errorf("%s, announced are (-want +got):\n%s", way, diff)
		}
		text := shown(t, status)
		if strings.Contains(text, password) || strings.Contains(text, encodedPassword) {
			t.Errorf("%s, the answer shows a Secret: %s", way, text)
		}
		changes := status.Syncs[0].Steps[0].Changes
		if len(changes) != 2 || changes[0].Path != "data.key" || changes[1].Path != "data.other" || changes[0].To != nil ||
			string(changes[0].From.Raw) != string(changes[1].To.Raw) || !strings.HasPrefix(string(changes[0].From.Raw), `"hidden-`) {
			t.Errorf("%s, the changes are %s", way, text)
		}
	}
	f.expectNothing(from, "a")
	f.change()
	f.Touch("a", "changed")
	f.expectWrites(from, want, "a")
	stored, err := env.Kube.CoreV1().Secrets(f.Namespace).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || string(stored.Data["other"]) != password {
		t.Errorf("stored is %v, %v", stored.Data, err)
	}
	given := f.answerLocally(f.of("a"))
	if given.Summary.Unchanged != 1 {
		t.Errorf("what a hook makes of digests is planned as %s", shown(t, given))
	}
}

// Reviews change nothing, so these share a controller and its parent.
func TestReviewsOfAParent(t *testing.T) {
	t.Parallel()
	f := prepare(t, before(t), after(t))
	f.RunComposite(f.CompositeSpec())
	f.CreateParent("a", object{})
	f.WaitForConfigMap("a-goes", harness.Exists)
	f.Settle("a")
	run := func(name string, test func(*testing.T, *fixture)) {
		t.Run(name, func(t *testing.T) {
			inner := &fixture{Fixture: f.Fixture, kinds: f.kinds}
			inner.T = t
			test(t, inner)
		})
	}
	run("calls for previews are marked", testCallsForPreviewsAreMarked)
	run("a given answer is planned", testAGivenAnswerIsPlanned)
	run("reviews that cannot be answered", testReviewsThatCannotBeAnswered)
}

// An answer is planned in the place of that of the hook, which is not called.
func testAGivenAnswerIsPlanned(t *testing.T, f *fixture) {
	calls := len(f.Hook.Calls())
	review := f.of("a")
	review.Response = &runtime.RawExtension{Raw: []byte(`{"children": [], "events": [{"reason": "Emptied", "message": "of all", "child": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a-goes"}}],
		"resyncAfterSeconds": 90, "sttus": {}}`)}
	sync := f.review(review).Syncs[0]
	expectSteps(t, &v1alpha1.SyncReviewStatus{Syncs: []v1alpha1.ReviewedSync{sync}}, map[string]v1alpha1.ReviewedOperation{
		"a-stays": v1alpha1.ReviewedDelete, "a-changes": v1alpha1.ReviewedDelete, "a-goes": v1alpha1.ReviewedDelete, "a": v1alpha1.ReviewedUpdateStatus,
	})
	if sync.Calls[0].Source != v1alpha1.ReviewedSourceGiven || len(f.Hook.Calls()) != calls {
		t.Errorf("the call is %+v; the hook was called %d times", sync.Calls[0], len(f.Hook.Calls())-calls)
	}
	event := v1alpha1.ReviewedEvent{
		Type: "Normal", Reason: "Emptied", Message: "of all", Child: &v1alpha1.ReviewedObject{APIVersion: "v1", Kind: "ConfigMap", Namespace: f.Namespace, Name: "a-goes"},
	}
	if diff := cmp.Diff([]v1alpha1.ReviewedEvent{event}, sync.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if sync.ResyncAfter != "1m30s" {
		t.Errorf("the next sync is after %q", sync.ResyncAfter)
	}
	if len(sync.Warnings) != 1 || sync.Warnings[0].Reason != "UnknownAnswerField" || !strings.Contains(sync.Warnings[0].Message, `did you mean "status"?`) {
		t.Errorf("the warnings are %+v", sync.Warnings)
	}
}

// A request that was sent before is sent again, and its answer is planned for what exists.
func TestARequestIsReplayed(t *testing.T) {
	t.Parallel()
	echo := func(t *testing.T) hook.Handler {
		return hook.Answering(t, func(asked hook.CompositeRequest) object {
			value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
			return object{"status": object{}, "children": []object{hook.ConfigMap(asked.Parent.GetName(), object{"value": value})}}
		})
	}
	f := prepare(t, echo(t), echo(t))
	f.RunComposite(f.CompositeSpec())
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.Settle("a")
	request := f.review(f.of("a")).Syncs[0].Calls[0].Request
	review := f.of("a")
	review.Request = &runtime.RawExtension{Raw: []byte(strings.Replace(string(request.Raw), `"value":"1"`, `"value":"2"`, 1))}
	sync := f.review(review).Syncs[0]
	if len(sync.Steps) != 1 || sync.Steps[0].Changes[0].Path != "data.value" || string(sync.Steps[0].Changes[0].To.Raw) != `"2"` {
		t.Errorf("the steps are %+v", sync.Steps)
	}
}

// Calls for previews carry a header.
func testCallsForPreviewsAreMarked(t *testing.T, f *fixture) {
	before := len(f.Hook.Calls())
	f.review(f.of("a"))
	calls := f.Hook.Calls()[before:]
	if len(calls) != 1 || calls[0].Header.Get("X-Metacontroller-Preview") != "true" {
		t.Errorf("the calls are %+v", calls)
	}
	for _, call := range f.Hook.Calls()[:before] {
		if call.Header.Get("X-Metacontroller-Preview") != "" {
			t.Error("the call of a sync is marked")
		}
	}
}
