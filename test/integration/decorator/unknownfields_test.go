// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

func TestFieldsThatTheClusterDropsAreTold(t *testing.T) {
	t.Parallel()
	crd := harness.CRD{Kind: "Thing", Schema: object{"status": object{"type": "object", "properties": object{"ready": object{"type": "integer"}}}}}
	f := prepare(t, crd, answers(t, func(asked request) object {
		return object{
			"status": object{"reddy": 1},
			"attachments": []object{{"apiVersion": "v1", "kind": "ConfigMap", "dat": object{"a": "b"},
				"metadata": object{"name": asked.Object.GetName(), "lables": object{}}}},
		}
	}))
	f.RunDecorator(f.DecoratorSpec())
	f.CreateParent("a", nil)
	child := "ConfigMap " + f.Namespace + "/a: the cluster does not know the field "
	env.WaitForEvent(t, f.Namespace, "a", "UnknownField", child+"dat and drops it; did you mean data?")
	env.WaitForEvent(t, f.Namespace, "a", "UnknownField", child+"metadata.lables and drops it; did you mean metadata.labels?")
	env.WaitForEvent(t, f.Namespace, "a", "UnknownField", "Thing "+f.Namespace+"/a: the cluster does not know the field status.reddy and drops it;")
	f.WaitForCondition("Warnings", metav1.ConditionTrue)
}
