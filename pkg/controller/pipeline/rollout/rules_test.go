// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestActive(t *testing.T) {
	tests := map[string]struct {
		kinds   []Kind
		managed bool
		want    bool
	}{
		"a kind rolls":  {[]Kind{recreated(pods)}, true, true},
		"no kind rolls": {nil, true, false},
		"the parent's children are left to the host": {[]Kind{recreated(pods)}, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rules := Rules{Kinds: test.kinds}
			if got := rules.Active(&pipeline.Snapshot{Managed: test.managed}); got != test.want {
				t.Errorf("active: %v", got)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	checks := []v1alpha1.StatusConditionCheck{{Type: "Ready"}}
	half := intstr.FromString("50%")
	tests := map[string]struct {
		strategy *v1alpha1.CompositeControllerChildUpdateStrategy
		want     *Kind
	}{
		"no update strategy": {},
		"a method that does not roll": {strategy: &v1alpha1.CompositeControllerChildUpdateStrategy{
			Method: new(v1alpha1.ChildUpdateMethod("InPlace"))}},
		"children that are deleted": {&v1alpha1.CompositeControllerChildUpdateStrategy{
			Method: new(v1alpha1.ChildUpdateMethod("RollingRecreate"))}, &Kind{Type: pods}},
		"children that are updated": {&v1alpha1.CompositeControllerChildUpdateStrategy{
			Method:       new(v1alpha1.ChildUpdateMethod("RollingInPlace")),
			StatusChecks: &v1alpha1.ChildUpdateStatusChecks{Conditions: checks}, MaxUnavailable: &half,
			Partition: ptr.To[int32](2)}, &Kind{Type: pods, InPlace: true, Checks: checks, MaxUnavailable: &half,
			Partition: 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kind, rolls := KindOf(pods, "", test.strategy)
			if rolls != (test.want != nil) {
				t.Fatalf("it rolls: %v", rolls)
			}
			if test.want == nil {
				return
			}
			if diff := cmp.Diff(*test.want, kind); diff != "" {
				t.Errorf("kind differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutPathsTheSpecIsRolledOut(t *testing.T) {
	w := newWorld(t, "v1", "Pod a")
	w.rules.FieldPaths = nil
	if got, want := string(w.open().Revisions[0].patch), `{"spec":{"children":["Pod a"],"version":"v1"}}`; got != want {
		t.Errorf("patch is %s, want %s", got, want)
	}
}
