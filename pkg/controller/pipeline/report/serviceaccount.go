// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// SetServiceAccountCondition sets the condition that the controller has no service account although the
// server requires one of new controllers, or removes the condition.
func SetServiceAccountCondition(status *v1alpha1.ControllerStatus, lacks bool) {
	if !lacks {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionServiceAccountSet)
		return
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionServiceAccountSet, Status: metav1.ConditionFalse, Reason: ReasonActsAsServer, ObservedGeneration: status.ObservedGeneration,
		Message: "the controller acts as the server and needs the server's rights to write; new controllers are refused without " +
			"spec.serviceAccount (--require-service-account), and so is the next change of this spec: set spec.serviceAccount",
	})
}
