// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func rules(names ...string) []v1alpha1.ResourceRule {
	var rules []v1alpha1.ResourceRule
	for _, name := range names {
		apiVersion, resource, _ := strings.Cut(name, " ")
		rules = append(rules, v1alpha1.ResourceRule{APIVersion: apiVersion, Resource: resource})
	}
	return rules
}

func TestTypesThatAreNoLongerHeld(t *testing.T) {
	tests := map[string]struct {
		held, current, want []v1alpha1.ResourceRule
	}{
		"another resource":                    {rules("a/v1 webs"), rules("a/v1 shops"), rules("a/v1 webs")},
		"another group":                       {rules("a/v1 webs"), rules("b/v1 webs"), rules("a/v1 webs")},
		"the core group":                      {rules("v1 pods"), rules("a/v1 pods"), rules("v1 pods")},
		"none any more":                       {rules("a/v1 webs"), nil, rules("a/v1 webs")},
		"several":                             {rules("a/v1 webs", "a/v1 shops", "v1 pods"), rules("a/v1 shops"), rules("a/v1 webs", "v1 pods")},
		"the same":                            {rules("a/v1 webs"), rules("a/v1 webs"), nil},
		"another version names the same ones": {rules("a/v1 webs"), rules("a/v2 webs"), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := except(test.held, test.current); len(got) != len(test.want) || len(got) > 0 && !cmp.Equal(test.want, got) {
				t.Errorf("to drain: %v, want %v", got, test.want)
			}
		})
	}
}

// A controller that was restored from a file has its finalizers and not its status.
func TestTheParentTypeOfADeletedControllerIsAlwaysDrained(t *testing.T) {
	object := &v1alpha1.CompositeController{}
	object.Spec.ParentResource.ResourceRule = rules("a/v1 webs")[0]
	if diff := cmp.Diff(rules("a/v1 webs"), drainedOnDelete(object)); diff != "" {
		t.Errorf("without a status (-want +got):\n%s", diff)
	}
	object.Status.HeldResources = rules("a/v1 shops", "a/v1 webs")
	if diff := cmp.Diff(rules("a/v1 webs", "a/v1 shops"), drainedOnDelete(object)); diff != "" {
		t.Errorf("with a status (-want +got):\n%s", diff)
	}
}

// status.observedGeneration shows a spec before the search for finalizers has ended, and the process may crash before.
func TestAnotherProcessSearchesAgain(t *testing.T) {
	object := controllerOf("shop", pods)
	object.Status.ObservedGeneration = object.Generation
	known := leftovers{}
	known.see(object)
	if known.removed {
		t.Error("nothing is searched for")
	}
	known.removed = true
	if known.see(object); !known.removed {
		t.Error("the process searches twice")
	}
	object.Generation++
	if known.see(object); known.removed {
		t.Error("nothing is searched for after a change of the spec")
	}
}

// To remove the finalizer from parents is to write to them.
func TestAPausedControllerWhoseFinalizeHookIsRemovedLeavesItsParentsAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	object := controllerOf("a", "v1 pods")
	object.Finalizers = []string{v1alpha1.DrainFinalizer}
	object.Status.HeldResources = object.ParentTypes()
	object.Spec.Paused = ptr.To(true)
	f.create(t, object)
	f.untilReady(t, "a", "True Running")
	if lists := f.host.lists("webs"); lists > 0 {
		t.Errorf("parents were listed %d times to remove the finalizer", lists)
	}
	hasFinalizer := func() bool {
		object, err := f.own.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), "a", metav1.GetOptions{})
		return err == nil && len(object.Finalizers) > 0
	}
	if !hasFinalizer() {
		t.Error("the controller lost its finalizer")
	}
	f.update(t, "a", func(object *v1alpha1.CompositeController) { object.Spec.Paused = nil })
	waitUntil(t, func() string { return "it keeps its finalizer after the pause" }, func() bool { return !hasFinalizer() })
}
