// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// rolling rolls changes of spec.value out. ConfigMaps are never Ready, so that a rollout stops after its first
// child.
func rolling(spec *v1alpha1.CompositeControllerSpec) {
	spec.ParentResource.RevisionHistory = &v1alpha1.CompositeControllerRevisionHistory{FieldPaths: []string{"spec.value"}}
	spec.ChildResources[0].UpdateStrategy.Method = new(v1alpha1.ChildUpdateRollingInPlace)
	spec.ChildResources[0].UpdateStrategy.StatusChecks = &v1alpha1.ChildUpdateStatusChecks{
		Conditions: []v1alpha1.StatusConditionCheck{{Type: "Ready", Status: ptr.To("True")}},
	}
}

// prepareRollout returns a fixture whose controller acts as an account that has all rights in its namespace.
// Its rollout of value 2 of the parent a is stopped: the ConfigMap first is at it, the ConfigMap second at 1.
func prepareRollout(t *testing.T) *fixture {
	t.Helper()
	f := prepare(t, hook.Answering(t, func(asked composite) object {
		value := object{"value": valueOf(&asked.Parent)}
		return object{"children": []object{hook.ConfigMap("first", value), hook.ConfigMap("second", value)}}
	}))
	who := f.newAccount()
	f.mayWriteParents(who)
	f.mayWriteChildren(who)
	f.RunComposite(f.CompositeSpec(limited(who), rolling))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("second", harness.HasData("value", "1"))
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("first", harness.HasData("value", "2"))
	return f
}

// The revisions of a parent are for all its controllers. One that does not want a child forgets at which
// revision the child is.
func TestAControllerThatMayOnlyReadParentsEndsNoRolloutOfAnother(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]harness.CompositeChange{
		"it rolls children":       rolling,
		"it rolls children never": func(*v1alpha1.CompositeControllerSpec) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := prepareRollout(t)
			other := *f
			other.Hook = hook.Serve(t, hook.Answering(t, func(composite) object { return object{"children": []object{}} }))
			who := f.newAccount()
			other.RunComposite(other.CompositeSpec(limited(who), strategy))

			env.WaitForEvent(t, f.Namespace, "a", "SyncError", "")
			f.Settle("a")
			f.WaitForConfigMap("second", harness.HasData("value", "1"))
			f.revisionOf("second")
			env.WaitForEvent(t, f.Namespace, "a", "SyncError", "ControllerRevision "+f.Namespace+"/")
			env.WaitForEvent(t, f.Namespace, "a", "SyncError", `the missing rule is {apiGroups: ["`+f.Parents.Group+`"], resources: ["`+
				f.Parents.Resource+`/status"], verbs: ["update"]} in a Role of namespace "`+f.Namespace+`"`)

			f.mayWriteParents(who)
			env.Eventually(t, func(context.Context) error {
				if revision := f.findRevisionOf("second"); revision != "" {
					return fmt.Errorf("ControllerRevision %s still has the child", revision)
				}
				return nil
			})
		})
	}
}
