// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

const (
	seenChild  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: ua, resourceVersion: "1", labels: {app: shop}}}`
	otherChild = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default, uid: ub, resourceVersion: "1", labels: {app: shop}}}`
	changed    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: ua, resourceVersion: "2", labels: {app: shop}}}`
	rewritten  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: ua, resourceVersion: "1", labels: {app: shop}}, data: {a: b}}`
	anew       = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: uz, resourceVersion: "1", labels: {app: shop}}}`
)

// seenOf is a snapshot of a parent with a child and room for more, with something changed.
func seenOf(t *testing.T, parent string, change func(*pipeline.Snapshot)) *pipeline.Snapshot {
	snapshot := &pipeline.Snapshot{
		Parent: parseYAML(t, parent), ParentType: webs, Managed: true, Finalizer: ourFinalizer,
		Selector: labels.SelectorFromSet(labels.Set{"app": "shop"}),
		Children: []pipeline.Group{{Type: configMaps, Claimed: []*object.Object{parseYAML(t, seenChild)}}, {Type: pods}},
	}
	change(snapshot)
	return snapshot
}

func TestWhatAPlanDependsOn(t *testing.T) {
	parse := func(text string) *object.Object { return parseYAML(t, text) }
	parent := func(text string) func(*pipeline.Snapshot) {
		return func(s *pipeline.Snapshot) { s.Parent = parse(text) }
	}
	none := []string(nil)
	both, decorator := []string{"composite", "decorator"}, []string{"decorator"}
	tests := map[string]struct {
		change  func(*pipeline.Snapshot)
		differs []string // the kinds whose plans may be others
	}{
		"nothing":                     {func(*pipeline.Snapshot) {}, none},
		"a child changes":             {func(s *pipeline.Snapshot) { s.Children[0].Claimed[0] = parse(changed) }, both},
		"a child in its old version":  {func(s *pipeline.Snapshot) { s.Children[0].Claimed[0] = parse(rewritten) }, both},
		"a child is replaced":         {func(s *pipeline.Snapshot) { s.Children[0].Claimed[0] = parse(anew) }, both},
		"a child goes":                {func(s *pipeline.Snapshot) { s.Children[0].Claimed = nil }, both},
		"a child comes":               {func(s *pipeline.Snapshot) { s.Children[0].Claimed = append(s.Children[0].Claimed, parse(otherChild)) }, both},
		"a child of another type":     {func(s *pipeline.Snapshot) { s.Children[0].Claimed, s.Children[1].Claimed = nil, s.Children[0].Claimed }, both},
		"a child loses its owner":     {func(s *pipeline.Snapshot) { s.Children[0].Adopt = slices.Clone(s.Children[0].Claimed) }, both},
		"a child is not selected":     {func(s *pipeline.Snapshot) { s.Children[0].Claimed, s.Children[0].Release = nil, s.Children[0].Claimed }, both},
		"another selector":            {func(s *pipeline.Snapshot) { s.Selector = labels.SelectorFromSet(labels.Set{"app": "x"}) }, []string{"composite"}},
		"it is being finalized":       {func(s *pipeline.Snapshot) { s.Finalizing = true }, both},
		"its children are left alone": {func(s *pipeline.Snapshot) { s.Managed = false }, both},
		"it is being deleted": {func(s *pipeline.Snapshot) {
			deleted := *s.Parent
			deleted.DeletionTimestamp = &metav1.Time{}
			s.Parent = &deleted
		}, both},
		"it is held": {func(s *pipeline.Snapshot) {
			held := *s.Parent
			held.Finalizers = []string{ourFinalizer}
			s.Parent = &held
		}, both},
		"another parent of the name": {parent(`{kind: Web, metadata: {name: shop, uid: other, generation: 3}, status: {observedGeneration: 3}}`), both},
		"another status":             {parent(`{kind: Web, metadata: {name: shop, uid: u, generation: 3}, status: {observedGeneration: 2}}`), both},
		"no status":                  {parent(`{kind: Web, metadata: {name: shop, uid: u, generation: 3}}`), both},
		"another generation":         {parent(`{kind: Web, metadata: {name: shop, uid: u, generation: 4}, status: {observedGeneration: 3}}`), []string{"composite"}},
		"an annotation":              {parent(`{kind: Web, metadata: {name: shop, uid: u, generation: 3, annotations: {a: b}}, status: {observedGeneration: 3}}`), decorator},
		"a label":                    {parent(`{kind: Web, metadata: {name: shop, uid: u, generation: 3, labels: {a: b}}, status: {observedGeneration: 3}}`), decorator},
		"another version":            {parent(`{kind: Web, metadata: {name: shop, uid: u, generation: 3, resourceVersion: "9"}, status: {observedGeneration: 3}}`), none},
		"a related object": {func(s *pipeline.Snapshot) {
			s.Related = []pipeline.Related{{Objects: []*object.Object{parse(otherChild)}}}
		}, none},
		"the controller": {func(s *pipeline.Snapshot) { s.Controller = []byte(`{}`) }, none},
	}
	const before = `{kind: Web, metadata: {name: shop, uid: u, generation: 3}, status: {observedGeneration: 3}}`
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for kind, inputs := range map[string]func(*pipeline.Snapshot) uint64{"composite": CompositeInputs, "decorator": DecoratorInputs} {
				was, is := inputs(seenOf(t, before, func(*pipeline.Snapshot) {})), inputs(seenOf(t, before, test.change))
				if differs := was != is; differs != slices.Contains(test.differs, kind) {
					t.Errorf("that the inputs of a %s's plan differ is %v", kind, differs)
				}
			}
		})
	}
}
