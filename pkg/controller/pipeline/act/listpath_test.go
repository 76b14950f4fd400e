// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import "testing"

func TestPathsWithIndexes(t *testing.T) {
	const body = `{"spec":{"replicas":1,"containers":[{"name":"a"},{"name":"b.[c]","ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}]}]}}`
	for name, test := range map[string]struct{ path, want string }{
		"no list":                      {"spec.replicas", "spec.replicas"},
		"a name":                       {`spec.containers[name="a"].valeu`, "spec.containers[0].valeu"},
		"a name with brackets":         {`spec.containers[name="b.[c]"].ports`, "spec.containers[1].ports"},
		"two keys in a list in a list": {`spec.containers[name="b.[c]"].ports[containerPort=80,protocol="UDP"].x`, "spec.containers[1].ports[1].x"},
		"a key by default":             {`spec.containers[name="b.[c]"].ports[containerPort=80,protocol="TCP"].x`, "spec.containers[1].ports[0].x"},
		"an item that is not there":    {`spec.containers[name="x"].valeu`, `spec.containers[name="x"].valeu`},
		"an index":                     {`spec.containers[0].valeu`, `spec.containers[0].valeu`},
		"a list that is not there":     {`spec.x[name="x"]`, `spec.x[name="x"]`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withIndexes(test.path, []byte(body)); got != test.want {
				t.Errorf("it is %s, want %s", got, test.want)
			}
		})
	}
}
