// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

func TestConfigMapPropagation(t *testing.T) {
	withBothHooks(t, "configmap-propagation", "8084", playConfigMapPropagation)
}

func playConfigMapPropagation(t *testing.T, example string) {
	env.Kubectl(t, "apply", "-f", filepath.Join(example, "example-configmap.yaml"))

	const settings, parent = "configmap/settings", "configmappropagation/settings-propagation"
	for _, namespace := range []string{"one", "two", "three"} {
		waitFor(t, namespace, settings, "{.data.some}", "value")
	}
	waitFor(t, "", parent, "{.status.actual_copies} of {.status.expected_copies}", "3 of 3")
	waitFor(t, "four", settings, "{.data.some}", "")

	former := uid(t, "two", settings)
	env.Kubectl(t, "delete", settings, "-n", "two")
	waitForAnother(t, "two", settings, former)
	env.Kubectl(t, "patch", settings, "-n", "original", "-p", `{"data":{"some":"other value"}}`)
	waitFor(t, "three", settings, "{.data.some}", "other value")

	// A missing namespace does not delay the others.
	later := harness.Name("later")
	env.Kubectl(t, "patch", parent, "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"targetNamespaces":["one","two",%q]}}`, later))
	waitForNone(t, "three", settings)
	waitFor(t, "", parent, "{.status.actual_copies} of {.status.expected_copies}", "2 of 3")
	env.Kubectl(t, "create", "namespace", later)
	waitFor(t, later, settings, "{.data.some}", "other value")

	env.Kubectl(t, "delete", settings, "-n", "original")
	waitForNone(t, "one", settings)
	waitFor(t, "", parent, "{.status.actual_copies}", "0")
}

func TestSecretPropagation(t *testing.T) {
	withBothHooks(t, "secret-propagation", "8085", playSecretPropagation)
}

func playSecretPropagation(t *testing.T, example string) {
	env.Kubectl(t, "apply", "-f", filepath.Join(example, "example-secret.yaml"))

	const secret, parent, value, other = "secret/shareable", "secretpropagation/secret-propagation", "dmFsdWU=", "b3RoZXI="
	waitFor(t, "alpha", secret, "{.data.some}", value)
	waitFor(t, "beta", secret, "{.data.some}", value)
	waitFor(t, "", parent, "{.status.working}: {.status.copies}", "fine: 2")
	waitFor(t, "gamma", secret, "{.data.some}", "")

	former := uid(t, "alpha", secret)
	env.Kubectl(t, "delete", secret, "-n", "alpha")
	waitForAnother(t, "alpha", secret, former)
	env.Kubectl(t, "label", "namespace", "gamma", "propagate=true")
	waitFor(t, "gamma", secret, "{.data.some}", value)
	env.Kubectl(t, "patch", secret, "-n", "omega", "-p", `{"data":{"some":"`+other+`"}}`)
	waitFor(t, "beta", secret, "{.data.some}", other)
	env.Kubectl(t, "label", "namespace", "gamma", "propagate-")
	waitForNone(t, "gamma", secret)

	env.Kubectl(t, "delete", secret, "-n", "omega")
	waitForNone(t, "alpha", secret)
	waitFor(t, "", parent, "{.status.working}: {.status.copies}", "there is no Secret shareable in namespace omega: 0")
}
