// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"testing"
)

func TestThereAndBack(t *testing.T) {
	w := newWorld(t)
	env.Apply(t, `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: a}
spec: {parentResource: {apiVersion: example.com/v1, resource: things}, hooks: {sync: {webhook: {url: "http://127.0.0.1:1"}}}}
`)
	for _, step := range []string{"check", "copy", "switch", "verify", "run", "finish", "back"} {
		w.migrate(step)
	}
}
