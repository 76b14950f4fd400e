// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"
)

// The backup that docs/operations.md describes is what kubectl prints, system fields included.
func TestABackupIsRestoredByKubectl(t *testing.T) {
	name := created(t)
	backup := env.Kubectl(t, "get", "compositecontrollers", "-l", "test="+name, "-o", "yaml")
	contains(t, backup, "resourceVersion:")
	env.Kubectl(t, "delete", "compositecontroller", name)

	env.Apply(t, backup)
	contains(t, env.Kubectl(t, "get", "compositecontroller", name, "-o", "jsonpath={.spec.parentResource.resource}"), "nothings")
	env.Kubectl(t, "delete", "compositecontroller", name)
}
