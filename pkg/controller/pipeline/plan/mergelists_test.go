// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// What the host says of a list goes before what the items of the list look like.
func TestListsAreMergedAsTheHostSays(t *testing.T) {
	tests := map[string]struct {
		of                            object.Type
		observed, last, desired, want string // of the spec, or all if it starts with metadata
	}{
		"two ports with one number are told apart by their protocols": {
			services,
			"{ports: [{port: 53, protocol: TCP, nodePort: 1}, {port: 53, protocol: UDP, nodePort: 2}]}", "",
			"{ports: [{port: 53, protocol: UDP, name: u}, {port: 53, protocol: TCP, name: t}]}",
			"{ports: [{port: 53, protocol: TCP, nodePort: 1, name: t}, {port: 53, protocol: UDP, nodePort: 2, name: u}]}",
		},
		"a key that is left out has its default": {
			services,
			"{ports: [{port: 53, protocol: TCP, nodePort: 1}, {port: 53, protocol: UDP, nodePort: 2}]}", "",
			"{ports: [{port: 53}, {port: 53, protocol: UDP}]}",
			"{ports: [{port: 53, protocol: TCP, nodePort: 1}, {port: 53, protocol: UDP, nodePort: 2}]}",
		},
		"one of two ports with one number goes": {
			services,
			"{ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}", "{ports: [{port: 53}, {port: 53, protocol: UDP}]}", "{ports: [{port: 53, protocol: UDP}]}",
			"{ports: [{port: 53, protocol: UDP}]}",
		},
		"a port with another protocol is another port": {
			services,
			"{ports: [{port: 53, protocol: TCP, nodePort: 1}]}", "{ports: [{port: 53}]}", "{ports: [{port: 53, protocol: UDP}]}",
			"{ports: [{port: 53, protocol: UDP}]}",
		},
		"lists of the items are merged too": {
			pods,
			"{containers: [{name: c, ports: [{containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: UDP, name: u}]}]}", "",
			"{containers: [{name: c, ports: [{containerPort: 53}, {containerPort: 53, protocol: UDP}]}]}",
			"{containers: [{name: c, ports: [{containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: UDP, name: u}]}]}",
		},
		"items with the same keys give way to a guess": {
			services,
			"{ports: [{port: 53, protocol: TCP, name: a, nodePort: 1}, {port: 53, protocol: TCP, name: b, nodePort: 2}]}", "",
			"{ports: [{port: 53, name: a}, {port: 53, name: b}]}",
			"{ports: [{port: 53, protocol: TCP, name: a, nodePort: 1}, {port: 53, protocol: TCP, name: b, nodePort: 2}]}",
		},
		"an atomic list is replaced, whatever its items have": {
			gadgets,
			"{ports: [{port: 53, protocol: TCP}, {port: 54}]}", "{ports: [{port: 53}]}", "{ports: [{port: 53, protocol: UDP}]}",
			"{ports: [{port: 53, protocol: UDP}]}",
		},
		"an atomic list that is no longer desired goes": {
			gadgets, "{ports: [{port: 53}]}", "{ports: [{port: 53}]}", "{}", "{}",
		},
		"a set keeps what others put in": {
			gadgets, "{names: [theirs, a, b]}", "{names: [a, b]}", "{names: [b, c]}", "{names: [theirs, b, c]}",
		},
		"an empty set takes away only what was applied": {
			gadgets, "{names: [theirs, a]}", "{names: [a]}", "{names: []}", "{names: [theirs]}",
		},
		"a null for a set takes away only what was applied": {
			gadgets, "{names: [theirs, a]}", "{names: [a]}", "{names: null}", "{names: [theirs]}",
		},
		"a list of which the cluster does not say is guessed": {
			gadgets, "{plain: [{name: a, pull: x}, {name: theirs}]}", "{plain: [{name: a}]}", "{plain: [{name: a, image: y}]}", "{plain: [{name: a, pull: x, image: y}, {name: theirs}]}",
		},
		"so is one in what the host leaves open": {
			gadgets, "{free: {ports: [{port: 1, x: y}]}}", "", "{free: {ports: [{port: 1}]}}", "{free: {ports: [{port: 1, x: y}]}}",
		},
		"items without a guess replace a list": {
			gadgets, "{plain: [{image: a, pull: x}]}", "{plain: [{image: a}]}", "{plain: [{image: b}]}", "{plain: [{image: b}]}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := location{schema: described(t, test.of), described: true}.field("spec")
			got := spec.merge(value(t, test.observed), value(t, test.last), value(t, test.desired))
			if diff := cmp.Diff(value(t, test.want), got); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
			again := spec.merge(got, value(t, test.desired), value(t, test.desired))
			if path, differ := difference(value(t, test.want), again); differ {
				t.Errorf("merged once more it differs at %q: %v", path, again)
			}
		})
	}
}
