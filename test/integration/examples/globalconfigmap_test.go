// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"path/filepath"
	"testing"
)

// A ConfigMap is copied into the namespaces with a label. The copies follow changes of the
// ConfigMap and of the labels.
func TestTheGlobalConfigMapIsCopied(t *testing.T) {
	withBothHooks(t, "globalconfigmap", "8082", playGlobalConfigMap)
}

func playGlobalConfigMap(t *testing.T, example string) {
	one, two := env.Namespace(t), env.Namespace(t)
	copySettingsTo(t, one)
	env.Kubectl(t, "apply", "-f", filepath.Join(example, "settings.yaml"))

	// A copy exists if it has the greeting.
	waitForGreetings := func(greetings map[string]string) {
		t.Helper()
		for namespace, greeting := range greetings {
			waitFor(t, namespace, "configmap/settings", "{.data.greeting}", greeting)
		}
	}
	waitForGreetings(map[string]string{one: "Hello", two: ""})
	waitFor(t, "", "gcm/settings", "{.status.copies}", "1")
	copySettingsTo(t, two)
	waitForGreetings(map[string]string{two: "Hello"})
	env.Kubectl(t, "patch", "configmap", "settings", "-n", "default", "-p", `{"data":{"greeting":"Good evening"}}`)
	waitForGreetings(map[string]string{one: "Good evening", two: "Good evening"})
	env.Kubectl(t, "label", "namespace", one, "settings-")
	waitForGreetings(map[string]string{one: "", two: "Good evening"})
	env.Kubectl(t, "delete", "configmap", "settings", "-n", "default")
	waitForGreetings(map[string]string{two: ""})
}

// copySettingsTo labels a namespace so that the settings are copied into it until the test ends.
func copySettingsTo(t *testing.T, namespace string) {
	t.Helper()
	env.Kubectl(t, "label", "namespace", namespace, "settings=yes")
	t.Cleanup(func() {
		if _, err := env.Host.RunKubectl(context.WithoutCancel(t.Context()), "label", "namespace", namespace, "settings-"); err != nil {
			t.Error(err)
		}
	})
}
