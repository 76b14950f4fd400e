// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// kubectl prints warnings about a controller that depend on the host and on the name service.
func TestAuthorsAreWarnedOfWhatTheHostLacks(t *testing.T) {
	noStatus := env.Install(t, harness.CRD{Kind: "Page", NoStatus: true})
	controller := func(name string) string {
		text := strings.ReplaceAll(manifest(name), "nothing.example.com/v1", noStatus.GroupVersion().String())
		text = strings.ReplaceAll(text, "nothings", "pages")
		return strings.ReplaceAll(text, "http://127.0.0.1:1/sync", "http://no-hooks.invalid/sync") + "  endpointConfigs: []\n"
	}
	first, second := harness.Name("first"), harness.Name("second")
	out := env.Apply(t, controller(first))
	contains(t, out, fmt.Sprintf(`Warning: spec.parentResource: "pages" in %s has no status subresource`, noStatus.GroupVersion()))
	contains(t, out, `Warning: spec.hooks.sync.webhook.url: the server cannot resolve the host "no-hooks.invalid"`)

	env.Eventually(t, func(context.Context) error {
		out := env.Apply(t, controller(second), "--dry-run=server")
		if want := fmt.Sprintf("Warning: spec.parentResource: CompositeController %q may handle the same parents", first); !strings.Contains(out, want) {
			return fmt.Errorf("no %q in:\n%s", want, out)
		}
		return nil
	})

	out = env.Apply(t, manifest(harness.Name("test")))
	contains(t, out, `Warning: spec.parentResource: the cluster does not serve "nothings" in nothing.example.com/v1 yet`)
	if strings.Contains(out, `the cluster does not serve "pods"`) {
		t.Errorf("there is a warning about children that the host has:\n%s", out)
	}

	out, err := kubectlAs(t.Context(), "root", "", "annotate", "cc", first, "a=b", "--as-group=system:masters")
	if err != nil || strings.Contains(out, "Warning") {
		t.Errorf("who annotates a controller is told %v: %s", err, out)
	}
}

// kubectl prints which type was meant, and which fields of the parents the cluster would drop.
func TestAuthorsAreWarnedOfNearNamesAndOfFieldsThatAreDropped(t *testing.T) {
	parents := env.Install(t, harness.CRD{Kind: "Leaf"})
	env.Kubectl(t, "patch", "crd", parents.GroupResource().String(), "--type=json", "-p",
		`[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":{"type":"object","properties":{"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}]`)
	text := strings.ReplaceAll(manifest(harness.Name("test")), "nothing.example.com/v1", parents.GroupVersion().String())
	text = strings.ReplaceAll(strings.ReplaceAll(text, "nothings", "leafs"), "resource: pods", "resource: deployment")
	out := env.Apply(t, text, "--dry-run=server")
	contains(t, out, fmt.Sprintf(`Warning: spec.parentResource: the schema of "leafs" in %s has no status.observedGeneration: the controller writes this, and the cluster drops it`, parents.GroupVersion()))
	contains(t, out, `Warning: spec.childResources[0]: the cluster does not serve "deployment" in v1 yet; the controller starts as soon as it does; did you mean "deployments" in apps/v1?`)
}
