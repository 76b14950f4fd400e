// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// A new controller must send a dry run to learn what the host stores for a null. The answer is no
// change of the child, so no event follows. The rollout must continue all the same.
func TestARolloutGoesOnAfterTheHostWasAsked(t *testing.T) {
	t.Parallel()
	for _, method := range []v1alpha1.ChildUpdateMethod{v1alpha1.ChildUpdateRollingRecreate, v1alpha1.ChildUpdateRollingInPlace} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			r := prepareRolling(t)
			r.parts = env.Install(t, partsThatTheHostFills())
			r.answer(func(asked request) object {
				return object{"status": object{}, "children": filledByTheHost(r.desired(asked))}
			})
			spec := r.rollingSpec(method, applied(v1alpha1.ChildApplyServerSide), func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ParentResource.IgnoreStatusChanges = ptr.To(true)
			})
			r.RunComposite(spec)
			r.startAll(3)
			r.makeUnready("a-0", "a-1")
			r.rollOut("2")
			r.waitForVersions("2", "1", "1")
			r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-0 failed")

			r.DeleteController()
			r.WaitUntilControllerIsGone()
			r.makeReady("a-0")
			r.RunComposite(spec)
			r.waitForVersions("2", "2", "1")
			r.makeReady("a-1")
			r.waitForEnd("2", "2", "2")
		})
	}
}

// The child that has just been moved may be as it was, too. No event follows then either.
func TestARolloutGoesOnAfterAMoveThatChangedNothing(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	r.parts = env.Install(t, partsThatTheHostFills())
	r.answer(func(asked request) object {
		parts := filledByTheHost(r.desired(asked))
		for _, part := range parts[:len(parts)-1] { // only the last one follows the parent
			part["spec"].(object)["version"] = "1"
		}
		return object{"status": object{}, "children": parts}
	})
	spec := r.rollingSpec(v1alpha1.ChildUpdateRollingInPlace, applied(v1alpha1.ChildApplyServerSide), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.IgnoreStatusChanges = ptr.To(true)
	})
	r.RunComposite(spec)
	r.startAll(3)
	r.DeleteController()
	r.WaitUntilControllerIsGone()
	r.rollOut("2")
	r.RunComposite(spec)
	r.waitForVersions("1", "1", "2")
	r.makeReady("a-2")
	r.waitForEnd("1", "1", "2")
}

// filledByTheHost returns parts with a null for which the host stores something else.
func filledByTheHost(parts []object) []object {
	for _, part := range parts {
		part["spec"].(object)["filled"] = nil
	}
	return parts
}

// partsThatTheHostFills are Parts with a field for whose null the host stores something else.
func partsThatTheHostFills() harness.CRD {
	return harness.CRD{Kind: "Part", Schema: object{
		"spec": object{"type": "object", "properties": object{
			"version": object{"type": "string"}, "filled": object{"type": "string", "default": "by the host"},
		}},
		"status": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	}}
}
