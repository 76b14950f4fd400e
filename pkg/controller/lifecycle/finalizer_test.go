// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
		held, holds, want []v1alpha1.ResourceRule
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
			if got := others(test.held, test.holds); len(got) != len(test.want) || len(got) > 0 && !cmp.Equal(test.want, got) {
				t.Errorf("to let go: %v, want %v", got, test.want)
			}
		})
	}
}

// A controller that was restored from a file has its finalizers and not its status.
func TestTheParentTypeOfADeletedControllerIsAlwaysDrained(t *testing.T) {
	object := &v1alpha1.CompositeController{}
	object.Spec.ParentResource.ResourceRule = rules("a/v1 webs")[0]
	if diff := cmp.Diff(rules("a/v1 webs"), heldBy(object)); diff != "" {
		t.Errorf("without a status (-want +got):\n%s", diff)
	}
	object.Status.HeldResources = rules("a/v1 shops", "a/v1 webs")
	if diff := cmp.Diff(rules("a/v1 webs", "a/v1 shops"), heldBy(object)); diff != "" {
		t.Errorf("with a status (-want +got):\n%s", diff)
	}
}

func TestWhatIsNextAfterAWrite(t *testing.T) {
	resource, broken := schema.GroupResource{Resource: "compositecontrollers"}, errors.New("no")
	tests := map[string]struct {
		err     error
		done    bool
		failure error
	}{
		"it went well":                     {nil, true, nil},
		"the object changed meanwhile":     {apierrors.NewConflict(resource, "a", broken), false, nil},
		"the object went meanwhile":        {apierrors.NewNotFound(resource, "a"), false, nil},
		"there are more parents to let go": {errTurnOver, false, nil},
		"the spec is too new":              {errNew, false, nil},
		"it failed":                        {broken, false, broken},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if done, failure := settle(t.Context(), "a", test.err); done != test.done || !errors.Is(failure, test.failure) {
				t.Errorf("done %v, failure %v", done, failure)
			}
		})
	}
}

// Whoever creates a controller and changes it right away is not in conflict with the note
// that it holds parents.
func TestANewControllerIsLeftAloneForAMoment(t *testing.T) {
	object := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "u", Generation: 1}}
	var entry controllerEntry
	if err := entry.mayWrite(object); !errors.Is(err, errNew) {
		t.Errorf("error is %v", err)
	}
	entry.seenSince = time.Now().Add(-newFor)
	if err := entry.mayWrite(object); err != nil {
		t.Errorf("error is %v after a while", err)
	}
	object.Generation = 2
	if err := entry.mayWrite(object); !errors.Is(err, errNew) {
		t.Errorf("error is %v after another change", err)
	}
}

func TestWhyParentsAreHeldIsToldOnce(t *testing.T) {
	var entry controllerEntry
	object := &v1alpha1.CompositeController{}
	entry.setDeleting(object)
	if !strings.HasPrefix(entry.problem.Err.Error(), "the controller is being deleted and no longer runs") {
		t.Errorf("the problem is %v", entry.problem.Err)
	}
	refused := errors.New("refused")
	for i, want := range []bool{true, false} {
		if got := entry.setUndrained(refused); got != want {
			t.Errorf("time %d is news: %v", i+1, got)
		}
	}
	entry.setDeleting(object)
	if got := entry.problem.Err.Error(); !strings.Contains(got, "refused") || !strings.Contains(got, v1alpha1.SkipDrainAnnotation) || !entry.looked(object) {
		t.Errorf("the problem is %s", got)
	}
	if entry.setUndrained(nil) || !entry.setUndrained(refused) {
		t.Error("that it went well is no news, that it fails again is")
	}
}
