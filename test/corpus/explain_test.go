// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/openapi"
)

// ours begins the names of the models of the group.
const ours = "io.k8s.metacontroller.v1alpha1."

// kubectl explain prints what a field is and what its default is.
func TestEveryFieldIsExplained(t *testing.T) {
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) })
	explained := 0
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		model, found := strings.CutPrefix(name, ours)
		if !found || strings.HasSuffix(model, "List") {
			continue
		}
		explained += explainModel(t, model, definitions[name])
	}
	if explained < 80 {
		t.Errorf("only %d fields were looked at", explained)
	}
}

// explainModel returns how many fields of a model it looked at.
func explainModel(t *testing.T, model string, definition common.OpenAPIDefinition) int {
	t.Helper()
	if definition.Schema.Description == "" {
		t.Errorf("%s has no description", model)
	}
	explained := 0
	for _, name := range slices.Sorted(maps.Keys(definition.Schema.Properties)) {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
			// Kubernetes explains these fields for all kinds, or people do not write them. The
			// apiVersion of a rule is a field of ours.
			if name != "status" && !strings.HasSuffix(model, "Rule") {
				continue
			}
		}
		explained++
		description := definition.Schema.Properties[name].Description
		if len(description) < 20 || !strings.HasSuffix(description, ".") {
			t.Errorf("%s.%s is not explained: %q", model, name, description)
		}
		required := slices.Contains(definition.Schema.Required, name) || strings.Contains(description, ". Required: ")
		if !required && !isStatus(model) && name != "status" && !strings.Contains(description, "Default: ") {
			t.Errorf("of %s.%s it is not said what holds if it is left out: %q", model, name, description)
		}
	}
	return explained
}

// isStatus reports whether the server writes the model. Such models have no defaults.
func isStatus(model string) bool {
	return strings.HasPrefix(model, "Reviewed") || strings.HasPrefix(model, "HookCall") || slices.Contains([]string{
		"SyncStatus", "SyncChildren", "SyncSteps", "SyncStep", "ParentReference", "ResyncRequestStatus",
		"ControllerStatus", "ParentCounts", "LastSyncError", "ControllerRevision", "ControllerRevisionChildren",
		"SyncReviewStatus", "SyncReviewSummary",
	}, model)
}
