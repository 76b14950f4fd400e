// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// A hook makes its answer from the request. If a field of the request changes and the hash does
// not, a hook that does its work looks like one whose answer changes for no reason.
func TestTheHashOfTheStateCoversTheRequest(t *testing.T) {
	all, parentsOnly := []pipeline.Op{pipeline.Status, pipeline.Metadata, pipeline.Update}, []pipeline.Op{pipeline.Status, pipeline.Metadata}
	const (
		webYAML   = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: p, namespace: ns, uid: p}, spec: {a: 1}}`
		childYAML = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns, uid: c, resourceVersion: "1"}}`
	)
	// hashed are the fields that a request is made from: how each changes, and the Ops for whose
	// steps the hash has to change with it. What a child is made from is the parent alone.
	hashed := map[string]struct {
		change func(*pipeline.Snapshot)
		ops    []pipeline.Op
	}{
		"Snapshot.Parent": {func(s *pipeline.Snapshot) {
			s.Parent = parse(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: p, namespace: ns, uid: p}, spec: {a: 2}}`)
		}, all},
		"Snapshot.Children": {func(s *pipeline.Snapshot) { s.Children = nil }, parentsOnly},
		"Snapshot.Related":  {func(s *pipeline.Snapshot) { s.Related = nil }, parentsOnly},
		"Group.Claimed": {func(s *pipeline.Snapshot) {
			s.Children[0].Claimed[0] = parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns, uid: c, resourceVersion: "2"}}`)
		}, parentsOnly},
		"Related.Objects": {func(s *pipeline.Snapshot) {
			s.Related[0].Objects[0] = parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns, uid: r, resourceVersion: "1"}}`)
		}, parentsOnly},
	}
	// steady are the fields of the request that no write of a loop changes.
	steady := map[string]string{
		"Snapshot.Controller": "people change it",
		"Snapshot.Finalizing": "it changes with the metadata of the parent, seldom more than once",
		"Group.Type":          "it is the same as long as the controller runs",
		"Related.Type":        "it is the type of its objects",
		"Snapshot.Trigger":    "it is for information: an answer that changes with it changes for no reason",
	}
	// unsent are the fields that are not in a request.
	unsent := []string{
		"Snapshot.ParentType", "Snapshot.Present", "Snapshot.Selector", "Snapshot.GeneratedLabels", "Snapshot.GeneratedAnnotations",
		"Snapshot.Finalizer", "Snapshot.NeedsFinalizer", "Snapshot.Managed", "Snapshot.Outside", "Snapshot.ForeignStatus", "Snapshot.NoOp",
		"Snapshot.ParentSchema", "Snapshot.SchemasVersion", "Snapshot.Revision",
		"Group.Schema", "Group.Kept", "Group.Adopt", "Group.Release",
	}
	known := slices.Concat(slices.Collect(maps.Keys(hashed)), slices.Collect(maps.Keys(steady)), unsent)
	for _, of := range []reflect.Type{reflect.TypeFor[pipeline.Snapshot](), reflect.TypeFor[pipeline.Group](), reflect.TypeFor[pipeline.Related]()} {
		for _, field := range reflect.VisibleFields(of) {
			name := of.Name() + "." + field.Name
			if i := slices.Index(known, name); i >= 0 {
				known = slices.Delete(known, i, i+1)
			} else {
				t.Errorf("%s is new: is a request made from it, and does the hash change with it?", name)
			}
		}
	}
	if len(known) > 0 {
		t.Errorf("there are no fields %q, or they are listed twice", known)
	}

	hash := func(op pipeline.Op, change func(*pipeline.Snapshot)) uint64 {
		snapshot := &pipeline.Snapshot{
			Parent:   parse(t, webYAML),
			Children: []pipeline.Group{{Type: configMaps, Claimed: []*object.Object{parse(t, childYAML)}}},
			Related:  []pipeline.Related{{Type: configMaps, Objects: []*object.Object{parse(t, childYAML)}}},
		}
		change(snapshot)
		return (&state{snapshot: snapshot}).hashFor(&pipeline.Step{Op: op})
	}
	for name, field := range hashed {
		for _, op := range all {
			before, after := hash(op, func(*pipeline.Snapshot) {}), hash(op, field.change)
			if changes := before != after; changes != slices.Contains(field.ops, op) {
				t.Errorf("that the hash for %s changes with %s is %v", op, name, changes)
			}
		}
	}
}

func parse(t *testing.T, text string) *object.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := object.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestWhatLabelsAreMadeFrom(t *testing.T) {
	const before = `{"metadata":{"name":"p","generation":1,"labels":{"a":"1"}},"spec":{"a":1},"status":{"a":1}}`
	tests := map[string]struct {
		after string
		same  bool
	}{
		"the spec":   {`{"metadata":{"name":"p","generation":2,"labels":{"a":"1"}},"spec":{"a":2},"status":{"a":1}}`, false},
		"the status": {`{"metadata":{"name":"p","generation":1,"labels":{"a":"1"}},"spec":{"a":1},"status":{"a":2}}`, true},
		"the annotations of a Deployment, and with them its generation": {
			`{"metadata":{"name":"p","generation":2,"annotations":{"a":"1"},"labels":{"a":"1"}},"spec":{"a":1},"status":{"a":1}}`, true,
		},
	}
	hash := func(text string) uint64 {
		parsed, err := object.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return parsed.ContentHash()
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if same := hash(before) == hash(test.after); same != test.same {
				t.Errorf("another answer is to be expected: %v", !same)
			}
		})
	}
}
