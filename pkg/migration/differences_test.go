// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func hookOf(change ...func(*v1alpha1.Hook)) *v1alpha1.Hook {
	hook := &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To("http://a")}}
	for _, change := range change {
		change(hook)
	}
	return hook
}

// Each quirk that a CompositeController touches is said, and no other.
func TestWhatCompositeControllersDoDifferently(t *testing.T) {
	rolling := v1alpha1.CompositeControllerChildResourceRule{ResourceRule: v1alpha1.ResourceRule{APIVersion: "v1", Resource: "pods"},
		UpdateStrategy: &v1alpha1.CompositeControllerChildUpdateStrategy{Method: v1alpha1.ChildUpdateRollingRecreate}}
	for name, test := range map[string]struct {
		spec    v1alpha1.CompositeControllerSpec
		unknown bool
		rolling int
		want    []string // the beginnings of lines
	}{
		"nothing":                                {},
		"parents of no CustomResourceDefinition": {unknown: true, want: []string{"its parents are not of a CustomResourceDefinition"}},
		"a rolling method": {
			spec: v1alpha1.CompositeControllerSpec{ChildResources: []v1alpha1.CompositeControllerChildResourceRule{rolling}},
			want: []string{"pods are rolled one by one", "the condition Updated"},
		},
		"a rolling update in the middle": {
			spec: v1alpha1.CompositeControllerSpec{ChildResources: []v1alpha1.CompositeControllerChildResourceRule{rolling}}, rolling: 3,
			want: []string{"pods are rolled one by one", "the condition Updated", "3 objects of its parents' type in the middle of a rolling update"},
		},
		"a finalize hook": {
			spec: v1alpha1.CompositeControllerSpec{Hooks: &v1alpha1.CompositeControllerHooks{Sync: hookOf(), Finalize: hookOf()}},
			want: []string{"it gets the finalizer metacontroller.k8s.io/drain"},
		},
		"a customize hook of version v1 and a sync hook of v2": {
			spec: v1alpha1.CompositeControllerSpec{Hooks: &v1alpha1.CompositeControllerHooks{
				Sync: hookOf(func(hook *v1alpha1.Hook) { hook.Version = ptr.To(v1alpha1.HookVersionV2) }), Customize: hookOf()}},
			want: []string{"its customize hook is asked again", "its customize hook has version v1"},
		},
		"an ETag cache that Metacontroller could not make": {
			spec: v1alpha1.CompositeControllerSpec{Hooks: &v1alpha1.CompositeControllerHooks{Sync: hookOf(func(hook *v1alpha1.Hook) {
				hook.Webhook.Etag = &v1alpha1.WebhookEtagConfig{CacheTimeoutSeconds: ptr.To[int32](5)}
			})}},
			want: []string{"it has an etag.cacheTimeoutSeconds"},
		},
		"a period that is longer than the interval of Metacontroller's flush": {spec: v1alpha1.CompositeControllerSpec{ResyncPeriodSeconds: ptr.To[int32](1800)}, want: []string{"its resyncPeriodSeconds of 1800"}},
		"a period that is shorter": {spec: v1alpha1.CompositeControllerSpec{ResyncPeriodSeconds: ptr.To[int32](1799)}},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			ofComposite(&v1alpha1.CompositeController{Spec: test.spec}, !test.unknown, test.rolling, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
			expectBeginnings(t, test.want, said)
		})
	}
}

func TestWhatDecoratorControllersDoDifferently(t *testing.T) {
	rule := v1alpha1.DecoratorControllerResourceRule{ResourceRule: v1alpha1.ResourceRule{APIVersion: "v1", Resource: "pods"}}
	of := &v1alpha1.DecoratorController{Spec: v1alpha1.DecoratorControllerSpec{Resources: []v1alpha1.DecoratorControllerResourceRule{rule, rule},
		Hooks: &v1alpha1.DecoratorControllerHooks{Sync: hookOf(), Finalize: hookOf()}}}
	var said []string
	ofDecorator(of, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	expectBeginnings(t, []string{"pods are listed twice", "it gets the finalizer"}, said)
}

func expectBeginnings(t *testing.T, want, said []string) {
	t.Helper()
	if len(said) != len(want) {
		t.Fatalf("it says %q, want %q", said, want)
	}
	for i := range want {
		if !strings.HasPrefix(said[i], want[i]) {
			t.Errorf("it says %q, want %q", said[i], want[i])
		}
	}
}

// A parent with two revisions or more is being rolled; it is counted once, for its type.
func TestRolloutsAreCounted(t *testing.T) {
	all := objects{}
	for i, parent := range []string{"one", "two", "two", "three", "three", "three"} {
		revision := &unstructured.Unstructured{Object: map[string]any{}}
		revision.SetLabels(map[string]string{"metacontroller.k8s.io/apiGroup": "example.com", "metacontroller.k8s.io/resource": "things"})
		revision.SetOwnerReferences([]metav1.OwnerReference{{UID: typesUID(parent), Controller: ptr.To(true)}})
		all[typesUID(fmt.Sprint(i))] = object{kinds()[2], revision}
	}
	if got := rolloutsOf(all); len(got) != 1 || got[schema.GroupResource{Group: "example.com", Resource: "things"}] != 2 {
		t.Errorf("the rollouts are %v", got)
	}
}
