// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import "testing"

func TestMeant(t *testing.T) {
	for name, test := range map[string]struct{ path, want string }{
		"a field":                                 {"spec.hostNetwrk", "spec.hostNetwork"},
		"a field at the top":                      {"spce", "spec"},
		"a field of an item":                      {"spec.containers[12].prots", "spec.containers[12].ports"},
		"a field of an item with a key":           {`spec.containers[name="a.b]\"["].prots`, `spec.containers[name="a.b]\"["].ports`},
		"a field of an item of an item":           {`spec.containers[0].ports[containerPort=80,protocol="TCP"].protcol`, `spec.containers[0].ports[containerPort=80,protocol="TCP"].protocol`},
		"a field that is near none":               {"spec.nonsense", ""},
		"a field that the schema has":             {"spec.hostNetwork", ""},
		"below a field that the schema has not":   {"spec.nonsense.x", ""},
		"below what the schema does not describe": {"spec.tolerations[0].kye", ""},
		"an item":                      {"spec.containers[0]", ""},
		"a bracket that is not closed": {"spec.containers[0", ""},
		"dots only":                    {"...", ""},
		"nothing":                      {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, pod).Meant(test.path); got != test.want {
				t.Errorf("%q is meant, want %q", got, test.want)
			}
		})
	}
	if got := (*Type)(nil).Meant("spec.x"); got != "" {
		t.Errorf("without a schema, %q is meant", got)
	}
}
