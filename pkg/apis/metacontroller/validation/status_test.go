// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestValidateControllerStatusUpdate(t *testing.T) {
	const ready = `{type: Ready, status: "True", reason: Started, message: "", lastTransitionTime: "2025-01-01T00:00:00Z"}`
	tests := map[string]struct {
		status string
		stored string
		want   []string
	}{
		"an empty status": {status: "{}"},
		"a full status": {
			status: `{observedGeneration: 3, conditions: [` + ready + `], parents: {total: 3, synced: 2, failing: 1},
				lastError: {message: failed, parent: ns/name, time: "2025-01-01T00:00:00Z"}}`,
		},
		"counts below zero": {
			status: "{observedGeneration: -1, parents: {total: -1, synced: 0, failing: -2}}",
			want: []string{
				"status.observedGeneration: Invalid value: -1: must not be negative",
				"status.parents.total: Invalid value: -1: must not be negative",
				"status.parents.failing: Invalid value: -2: must not be negative",
			},
		},
		"two conditions of one type": {
			status: "{conditions: [" + ready + ", " + ready + "]}",
			want:   []string{`status.conditions[1]: Duplicate value: "Ready"`},
		},
		"a condition of which only the type is said": {
			status: "{conditions: [{type: Ready}]}",
			want: []string{
				"status.conditions[0].status: Required value",
				"status.conditions[0].lastTransitionTime: Required value",
				"status.conditions[0].reason: Required value",
			},
		},
		"a condition that was wrong already": {
			status: "{observedGeneration: 2, conditions: [" + ready + ", {type: Old}]}",
			stored: "{observedGeneration: 1, conditions: [{type: Old}]}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := func(text string) *v1alpha1.ControllerStatus {
				if text == "" {
					return &v1alpha1.ControllerStatus{}
				}
				return &decode[*v1alpha1.CompositeController](t, patched(t, compositeController, "status: "+text)).Status
			}
			wantErrors(t, ValidateControllerStatusUpdate(status(test.status), status(test.stored)), test.want...)
		})
	}
}
