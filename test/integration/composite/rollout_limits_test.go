// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestARolloutMovesSeveralChildrenAndHoldsSomeBack(t *testing.T) {
	t.Parallel()
	r := startRolling(t, v1alpha1.ChildUpdateRollingRecreate, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.RevisionHistory = &v1alpha1.CompositeControllerRevisionHistory{FieldPaths: []string{"spec.version"}}
		strategy := spec.ChildResources[0].UpdateStrategy
		strategy.MaxUnavailable, strategy.Partition = ptr.To(intstr.FromString("50%")), ptr.To[int32](1)
	})
	r.CreateParent("a", object{"replicas": int64(4), "version": "1"})
	r.waitForVersions("1", "1", "1", "1")
	r.makeReady("a-0", "a-1", "a-2", "a-3")
	r.waitUntilPartsAreSeen()
	r.waitForUpdated("a", "True", "OnLatestRevision", "latest ControllerRevision: things.")

	r.PatchParent("a", object{"spec": object{"version": "2"}})
	r.waitForVersions("1", "2", "2", "1")
	r.waitForUpdated("a", "False", "RolloutWaiting", "child Part a-1 failed")
	r.makeReady("a-2")
	r.waitForVersions("1", "2", "2", "2")
	r.waitForUpdated("a", "False", "RolloutWaiting", "partition 1 holds back Part a-0")
	r.waitForRevisions(2)

	r.makeReady("a-1", "a-3")
	_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Patch(t.Context(), r.Controller.Name, types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/childResources/0/updateStrategy/partition","value":0}]`), metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("lower the partition: %v", err)
	}
	r.waitForVersions("2", "2", "2", "2")
	r.makeReady("a-0")
	r.waitForUpdated("a", "True", "OnLatestRevision", "latest ControllerRevision: things.")
	r.waitForRevisions(1)
}
