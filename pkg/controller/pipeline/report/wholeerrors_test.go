// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestErrorsOfHooksCanBeShownWhole(t *testing.T) {
	for name, test := range map[string]struct {
		error string
		whole bool
		most  int
	}{
		"they are cut":       {strings.Repeat("x", 5000), false, MaxMessage},
		"whole ones are not": {strings.Repeat("x", 5000), true, 6000},
		"a condition has no more than it can have": {strings.Repeat("ü", 50_000), true, MaxWholeMessage},
	} {
		t.Run(name, func(t *testing.T) {
			failure := &ParentError{Parent: shop, Message: test.error}
			status := Status(v1alpha1.ControllerStatus{}, 1, &Health{
				Total: 1, Failing: 1, HookCalled: true, HookErr: errors.New(test.error), LastError: failure, Failure: failure, WholeErrors: test.whole,
			}, nil)
			for place, message := range map[string]string{
				"lastError":                     status.LastError.Message,
				v1alpha1.ConditionParentsSynced: meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionParentsSynced).Message,
			} {
				isWhole := strings.Contains(message, test.error)
				want := test.whole && len(test.error) < MaxWholeMessage
				if len(message) > test.most || isWhole != want || strings.ToValidUTF8(message, "") != message {
					t.Errorf("%s has %d bytes", place, len(message))
				}
			}
		})
	}
}
