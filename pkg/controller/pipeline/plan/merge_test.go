// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// value is the generic JSON that a text in YAML stands for; no text is no value.
func value(t testing.TB, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var wrapped struct{ Value any }
	if err := utiljson.Unmarshal(fmt.Appendf(nil, `{"Value":%s}`, raw), &wrapped); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return wrapped.Value
}

func TestMerge(t *testing.T) {
	tests := map[string]struct{ observed, last, desired, want string }{
		// Objects.
		"a desired field is put in":                               {"{}", "", "{a: 1}", "{a: 1}"},
		"a desired field replaces what is there":                  {"{a: 1}", "{a: 1}", "{a: 2}", "{a: 2}"},
		"what others have changed is changed back":                {"{a: 5}", "{a: 1}", "{a: 1}", "{a: 1}"},
		"what others have put in stays":                           {"{a: 1, b: 2}", "{a: 1}", "{a: 1}", "{a: 1, b: 2}"},
		"what was applied and is no longer desired goes":          {"{a: 1, b: 2}", "{a: 1, b: 2}", "{a: 1}", "{a: 1}"},
		"it goes too if others have changed it since":             {"{a: 1, b: 5}", "{a: 1, b: 2}", "{a: 1}", "{a: 1}"},
		"what is gone already stays away":                         {"{a: 1}", "{a: 1, b: 2}", "{a: 1}", "{a: 1}"},
		"without a record nothing goes":                           {"{a: 1, b: 2}", "", "{a: 1}", "{a: 1, b: 2}"},
		"objects are merged on every level":                       {"{a: {b: {c: 1, x: 1}, y: 1}, z: 1}", "{a: {b: {c: 1, d: 1}}}", "{a: {b: {c: 2}}}", "{a: {b: {c: 2, x: 1}, y: 1}, z: 1}"},
		"an object that was applied goes with what others put in": {"{a: {b: 1, x: 1}}", "{a: {b: 1}}", "{}", "{}"},
		"an empty object takes away only what was applied":        {"{a: {b: 1, x: 1}}", "{a: {b: 1}}", "{a: {}}", "{a: {x: 1}}"},
		"a whole object is put in":                                {"{}", "", "{a: {b: {c: 1}}}", "{a: {b: {c: 1}}}"},
		"false, zero and the empty text are values":               {`{a: true, b: 1, c: "x"}`, "", `{a: false, b: 0, c: ""}`, `{a: false, b: 0, c: ""}`},

		// Lists without merge keys.
		"a list is replaced as a whole":                      {"{a: [1, 2, 3]}", "{a: [1]}", "{a: [2]}", "{a: [2]}"},
		"a list that is no longer desired goes":              {"{a: [1, 2, 3]}", "{a: [1]}", "{}", "{}"},
		"an empty list empties a list":                       {"{a: [1, 2]}", "", "{a: []}", "{a: []}"},
		"a list of objects without a merge key is replaced":  {"{a: [{x: 1, y: 1}]}", "{a: [{x: 1}]}", "{a: [{x: 1}]}", "{a: [{x: 1}]}"},
		"a list of objects and others is replaced":           {"{a: [{name: x, y: 1}]}", "", "{a: [{name: x}, 1]}", "{a: [{name: x}, 1]}"},
		"a list is replaced if one item lacks the merge key": {"{a: [{name: x, y: 1}, {y: 2}]}", "", "{a: [{name: x}]}", "{a: [{name: x}]}"},
		"a list is replaced if one item of the record does":  {"{a: [{name: x, y: 1}]}", "{a: [{z: 1}]}", "{a: [{name: x}]}", "{a: [{name: x}]}"},
		"a list is replaced if one merge key is null":        {"{a: [{name: x, y: 1}]}", "", "{a: [{name: null}]}", "{a: [{name: null}]}"},

		// Lists with merge keys.
		"items with the same key are merged":                {"{a: [{name: x, y: 1, z: 1}]}", "{a: [{name: x, y: 1}]}", "{a: [{name: x, y: 2}]}", "{a: [{name: x, y: 2, z: 1}]}"},
		"an item that others put in stays":                  {"{a: [{name: x}, {name: sidecar, y: 1}]}", "{a: [{name: x}]}", "{a: [{name: x, y: 2}]}", "{a: [{name: x, y: 2}, {name: sidecar, y: 1}]}"},
		"an item that was applied and is not desired goes":  {"{a: [{name: x}, {name: y}]}", "{a: [{name: x}, {name: y}]}", "{a: [{name: y}]}", "{a: [{name: y}]}"},
		"the order there is stays, new items come last":     {"{a: [{name: c}, {name: a}]}", "", "{a: [{name: d}, {name: a}, {name: b}, {name: c}]}", "{a: [{name: c}, {name: a}, {name: d}, {name: b}]}"},
		"an item's field that is no longer desired goes":    {"{a: [{name: x, y: 1, z: 1}]}", "{a: [{name: x, y: 1}]}", "{a: [{name: x}]}", "{a: [{name: x, z: 1}]}"},
		"a list that was applied goes with others' items":   {"{a: [{name: x}, {name: y}]}", "{a: [{name: x}]}", "{}", "{}"},
		"an empty list takes away only what was applied":    {"{a: [{name: x}, {name: y}]}", "{a: [{name: x}]}", "{a: []}", "{a: [{name: y}]}"},
		"a list that only the record knows is not put back": {"{}", "{a: [{name: x}]}", "{a: []}", "{a: []}"},
		"an empty list of items is filled":                  {"{a: []}", "", "{a: [{name: x}]}", "{a: [{name: x}]}"},
		"lists within items are merged as well": {
			"{c: [{name: app, ports: [{containerPort: 80, protocol: TCP}]}]}", "{c: [{name: app, ports: [{containerPort: 80}]}]}",
			"{c: [{name: app, ports: [{containerPort: 80}, {containerPort: 81}]}]}",
			"{c: [{name: app, ports: [{containerPort: 80, protocol: TCP}, {containerPort: 81}]}]}",
		},
		"keys that are no text are compared as they are printed": {`{a: [{port: 80, x: 1}]}`, "", `{a: [{port: "80", y: 1}]}`, `{a: [{port: "80", x: 1, y: 1}]}`},
		"of several keys the first of all items counts":          {"{a: [{name: x, port: 80, z: 1}]}", "", "{a: [{name: y, port: 80}]}", "{a: [{name: y, port: 80, z: 1}]}"},
		"a key counts only if all items have it":                 {"{a: [{name: x, port: 80, z: 1}]}", "", "{a: [{name: x}]}", "{a: [{name: x, port: 80, z: 1}]}"},
		"a key that stands twice in a list gives way to another": {
			"{p: [{name: dns, port: 53, protocol: UDP, x: 1}, {name: tcp, port: 53, protocol: TCP, x: 1}]}", "",
			"{p: [{name: dns, port: 53, protocol: UDP}, {name: tcp, port: 53, protocol: TCP}]}",
			"{p: [{name: dns, port: 53, protocol: UDP, x: 1}, {name: tcp, port: 53, protocol: TCP, x: 1}]}",
		},
		"without another the list is replaced and loses no item": {
			"{p: [{port: 53, x: 1}]}", "", "{p: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}",
			"{p: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}",
		},

		// Nulls.
		"a null takes a value away":                             {"{a: 1, b: 2}", "", "{a: null}", "{b: 2}"},
		"a null for what is not there is not put in":            {"{b: 2}", "", "{a: null}", "{b: 2}"},
		"a null for an object takes away only what was applied": {"{a: {b: 1, x: 1}}", "{a: {b: 1}}", "{a: null}", "{a: {x: 1}}"},
		"a null for items takes away only what was applied":     {"{a: [{name: x}, {name: y}]}", "{a: [{name: x}]}", "{a: null}", "{a: [{name: y}]}"},
		"a null for a list takes it away":                       {"{a: [1, 2]}", "{a: [1]}", "{a: null}", "{}"},
		"a null for an empty list leaves it":                    {"{a: []}", "{a: [{name: x}]}", "{a: null}", "{a: []}"},
		"a null in the record is no record":                     {"{a: {x: 1}}", "{a: null}", "{a: {b: 1}}", "{a: {b: 1, x: 1}}"},
		"a null among items is sent, to be refused":             {"{a: [{name: x}]}", "", "{a: [null]}", "{a: [null]}"},
		"a null among values":                                   {"{a: [p]}", "", "{a: [p, null]}", "{a: [p, null]}"},
		"a null that is there is replaced":                      {"{a: null}", "", "{a: {b: 1}}", "{a: {b: 1}}"},

		// Other types than observed are sent for the API server to judge.
		"text for an object":           {"{a: {b: 1}}", "", "{a: text}", "{a: text}"},
		"an object for text":           {"{a: text}", "", "{a: {b: 1}}", "{a: {b: 1}}"},
		"a list for an object":         {"{a: {b: 1}}", "{a: {b: 1}}", "{a: [1]}", "{a: [1]}"},
		"an object for a list":         {"{a: [{name: x}]}", "{a: [{name: x}]}", "{a: {b: 1}}", "{a: {b: 1}}"},
		"a number for text":            {`{a: "1"}`, "", "{a: 1}", "{a: 1}"},
		"a record of another type":     {"{a: {b: 1, x: 1}}", "{a: text}", "{a: {b: 2}}", "{a: {b: 2, x: 1}}"},
		"a record of a list's type":    {"{a: [{name: x, y: 1}]}", "{a: {name: x}}", "{a: [{name: x}]}", "{a: [{name: x, y: 1}]}"},
		"an item that becomes another": {"{a: [{name: x, y: {z: 1}}]}", "", "{a: [{name: x, y: [1]}]}", "{a: [{name: x, y: [1]}]}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := location{}.merge(value(t, test.observed), value(t, test.last), value(t, test.desired))
			if diff := cmp.Diff(value(t, test.want), got); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
			again := location{}.merge(got, value(t, test.desired), value(t, test.desired))
			if path, differ := difference(value(t, test.want), again); differ {
				t.Errorf("merged once more it differs at %q: %v", path, again)
			}
		})
	}
}

func TestMergeKeys(t *testing.T) {
	for _, key := range []string{"containerPort", "port", "mountPath", "name", "uid", "ip", "path"} {
		t.Run(key+" identifies the items of a list", func(t *testing.T) {
			observed := fmt.Sprintf("{a: [{%[1]s: 1, others: true}, {%[1]s: 2}, {%[1]s: 3}]}", key)
			last := fmt.Sprintf("{a: [{%[1]s: 1}, {%[1]s: 2}]}", key)
			desired := fmt.Sprintf("{a: [{%[1]s: 4}, {%[1]s: 1, ours: true}]}", key)
			want := fmt.Sprintf("{a: [{%[1]s: 1, others: true, ours: true}, {%[1]s: 3}, {%[1]s: 4}]}", key)
			got := location{}.merge(value(t, observed), value(t, last), value(t, desired))
			if diff := cmp.Diff(value(t, want), got); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("key identifies nothing", func(t *testing.T) {
		got := location{}.merge(value(t, "{a: [{key: 1, others: true}]}"), nil, value(t, "{a: [{key: 1}]}"))
		if diff := cmp.Diff(value(t, "{a: [{key: 1}]}"), got); diff != "" {
			t.Errorf("merged (-want +got):\n%s", diff)
		}
	})
}

// Of two keys that fit, the one that stands earlier in Metacontroller's list counts.
func TestMergeKeysCountInTheirOrder(t *testing.T) {
	keys := []string{"containerPort", "port", "mountPath", "name", "uid", "ip", "path"}
	for i, first := range keys[:len(keys)-1] {
		second := keys[i+1]
		t.Run(first+" goes before "+second, func(t *testing.T) {
			observed := fmt.Sprintf("{a: [{%s: same, %s: old, others: true}]}", first, second)
			desired := fmt.Sprintf("{a: [{%s: same, %s: new}]}", first, second)
			want := fmt.Sprintf("{a: [{%s: same, %s: new, others: true}]}", first, second)
			got := location{}.merge(value(t, observed), nil, value(t, desired))
			if diff := cmp.Diff(value(t, want), got); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
		})
	}
}

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
