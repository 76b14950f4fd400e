// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"reflect"
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

// irrelevant is why the hash of a snapshot does not cover a field, for each kind of controller. An
// empty reason means that the hash covers it.
type irrelevant struct{ composite, decorator string }

func forBoth(reason string) irrelevant { return irrelevant{reason, reason} }

const (
	fixed       = "it changes with the controller's spec or the host's types alone, and then a new parent controller starts"
	inHash      = "it changes Hash too"
	inVersion   = "it changes the resource version too"
	notRead     = "plans do not read it of a parent"
	followsUID  = "it is made of the parent's UID"
	identityUID = "the UID stands for it"
	schemas     = "SchemasVersion stands for it"
)

// uncovered are the fields that the hash does not cover, with the reasons. A new field of a snapshot
// has to be hashed or to be put here.
var uncovered = map[string]irrelevant{
	"Controller":           forBoth("hooks are sent it, and plans do not read it"),
	"ParentType":           forBoth(fixed),
	"Present":              forBoth("the hook calls of earlier revisions have it, and plans are made for the current parent"),
	"Selector":             {decorator: "a decorator selects no attachments"},
	"GeneratedLabels":      forBoth(followsUID),
	"GeneratedAnnotations": forBoth(fixed),
	"Related":              forBoth("hooks are sent them, and plans do not read them"),
	"NeedsFinalizer":       forBoth("FinalizerStep acts on it before a hook is called"),
	"Outside":              forBoth("FinalizerStep acts on it, and no hook is called"),
	"ForeignStatus":        forBoth(fixed),
	"NoOp":                 forBoth("the hash decides whether it is used"),
	"Revision":             forBoth("it names what Present tells"),
	"Trigger":              forBoth("hooks are told it for information"),

	"Children.Type":   forBoth(fixed),
	"Children.Schema": forBoth(schemas),
	"ParentSchema":    forBoth(schemas),

	"Parent.Kind":                       forBoth(fixed),
	"Parent.APIVersion":                 forBoth(fixed),
	"Parent.Name":                       forBoth(identityUID),
	"Parent.Namespace":                  forBoth(identityUID),
	"Parent.GenerateName":               forBoth(notRead),
	"Parent.SelfLink":                   forBoth(notRead),
	"Parent.ResourceVersion":            forBoth("only steps that are taken for another reason send it"),
	"Parent.Generation":                 {decorator: "only the status of a composite's parent has it"},
	"Parent.CreationTimestamp":          forBoth(notRead),
	"Parent.DeletionGracePeriodSeconds": forBoth(notRead),
	"Parent.Labels":                     {"the selector of a composite is in the parent's spec", inHash},
	"Parent.Annotations":                {notRead, inHash},
	"Parent.OwnerReferences":            forBoth(notRead),
	"Parent.ManagedFields":              forBoth("objects leave it out"),
	"Parent.Owners":                     forBoth(notRead),
	"Parent.Applied":                    forBoth(notRead),
	"Parent.Shared":                     forBoth(notRead),
	"Parent.Hash":                       {composite: "the plan compares the status, the generation and the selector alone"},

	"Children.Claimed.Kind":                       forBoth(inHash),
	"Children.Claimed.APIVersion":                 forBoth(inHash),
	"Children.Claimed.Name":                       forBoth(inHash),
	"Children.Claimed.Namespace":                  forBoth(inHash),
	"Children.Claimed.GenerateName":               forBoth(inHash),
	"Children.Claimed.SelfLink":                   forBoth(inHash),
	"Children.Claimed.Generation":                 forBoth(inVersion),
	"Children.Claimed.CreationTimestamp":          forBoth(inHash),
	"Children.Claimed.DeletionTimestamp":          forBoth(inHash),
	"Children.Claimed.DeletionGracePeriodSeconds": forBoth(inHash),
	"Children.Claimed.Labels":                     forBoth(inHash),
	"Children.Claimed.Annotations":                forBoth(inHash),
	"Children.Claimed.OwnerReferences":            forBoth(inHash),
	"Children.Claimed.Finalizers":                 forBoth(inHash),
	"Children.Claimed.ManagedFields":              forBoth("objects leave it out"),
	"Children.Claimed.Owners":                     forBoth(inVersion),
	"Children.Claimed.Applied":                    forBoth(inVersion),
	"Children.Claimed.Shared":                     forBoth(inVersion),
}

// fullSnapshot returns a snapshot in which each list has something in it.
func fullSnapshot(t *testing.T) *pipeline.Snapshot {
	one := func(text string) []*object.Object { return []*object.Object{parseYAML(t, text)} }
	return &pipeline.Snapshot{
		Parent:     parseYAML(t, `{kind: Web, metadata: {name: shop, uid: u, generation: 3, finalizers: [`+ourFinalizer+`]}, status: {observedGeneration: 3}}`),
		ParentType: webs, Managed: true, Finalizer: ourFinalizer,
		Selector: labels.SelectorFromSet(labels.Set{"app": "shop"}),
		Children: []pipeline.Group{{Type: configMaps, Claimed: one(seenChild), Kept: one(otherChild), Adopt: one(seenChild), Release: one(otherChild)}},
	}
}

// flip gives a field another value: a list, a map, a pointer or an interface that is there goes,
// and one that is missing is made.
func flip(t *testing.T, field reflect.Value) {
	t.Helper()
	if _, ok := field.Interface().(metav1.Time); ok {
		field.Set(reflect.ValueOf(metav1.Unix(1, 0)))
		return
	}
	switch field.Kind() {
	case reflect.Bool:
		field.SetBool(!field.Bool())
	case reflect.String:
		field.SetString(field.String() + "x")
	case reflect.Int32, reflect.Int64:
		field.SetInt(field.Int() + 1)
	case reflect.Uint64:
		field.SetUint(field.Uint() + 1)
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Slice:
		if field.Len() > 0 {
			field.SetZero()
		} else {
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		}
	case reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
	case reflect.Interface:
		field.SetZero()
	case reflect.Struct:
		flip(t, field.Field(0))
	default:
		t.Fatalf("there is no way to change a %s", field.Type())
	}
}

// fieldsOf calls visit with the exported fields of a struct. The fields of embedded structs count as
// its own.
func fieldsOf(of reflect.Value, visit func(name string, field reflect.Value)) {
	for i := range of.NumField() {
		switch field := of.Type().Field(i); {
		case field.Anonymous:
			fieldsOf(of.Field(i), visit)
		case field.IsExported():
			visit(field.Name, of.Field(i))
		}
	}
}

func TestTheHashCoversEachFieldOfASnapshot(t *testing.T) {
	// Where the fields are: a part of the snapshot that is made anew for each field.
	parts := map[string]func(*pipeline.Snapshot) any{
		"":                  func(s *pipeline.Snapshot) any { return s },
		"Children.":         func(s *pipeline.Snapshot) any { return &s.Children[0] },
		"Parent.":           func(s *pipeline.Snapshot) any { return s.Parent },
		"Children.Claimed.": func(s *pipeline.Snapshot) any { return s.Children[0].Claimed[0] },
	}
	seen := map[string]bool{}
	for prefix, part := range parts {
		fieldsOf(reflect.ValueOf(part(fullSnapshot(t))).Elem(), func(name string, _ reflect.Value) {
			path := prefix + name
			seen[path] = true
			changed := fullSnapshot(t)
			fieldsOf(reflect.ValueOf(part(changed)).Elem(), func(other string, field reflect.Value) {
				if other == name {
					flip(t, field)
				}
			})
			expectCovered(t, path, "composite", uncovered[path].composite, CompositeInputs(fullSnapshot(t)) != CompositeInputs(changed))
			expectCovered(t, path, "decorator", uncovered[path].decorator, DecoratorInputs(fullSnapshot(t)) != DecoratorInputs(changed))
		})
	}
	for _, path := range slices.Sorted(maps.Keys(uncovered)) {
		if !seen[path] {
			t.Errorf("there is no field %s", path)
		}
	}
}

func expectCovered(t *testing.T, path, kind, reason string, covered bool) {
	t.Helper()
	switch {
	case !covered && reason == "":
		t.Errorf("the hash of a %s's snapshot does not cover %s: hash it, or say in uncovered why no plan depends on it", kind, path)
	case covered && reason != "":
		t.Errorf("the hash of a %s's snapshot covers %s, of which uncovered says: %s", kind, path, reason)
	}
}

// The reasons inHash and inVersion hold: two children that differ in any field differ in what is
// hashed of them.
func TestTheHashOfAChildStandsForItsMetadata(t *testing.T) {
	const child = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: ua, resourceVersion: "1"}}`
	for name, other := range map[string]string{
		"Kind":              `{apiVersion: v1, kind: Secret, metadata: {name: a, uid: ua, resourceVersion: "1"}}`,
		"APIVersion":        `{apiVersion: v2, kind: ConfigMap, metadata: {name: a, uid: ua, resourceVersion: "1"}}`,
		"Name":              `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, uid: ua, resourceVersion: "1"}}`,
		"Labels":            `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: ua, resourceVersion: "1", labels: {a: b}}}`,
		"Annotations":       `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: ua, resourceVersion: "1", annotations: {a: b}}}`,
		"OwnerReferences":   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: ua, resourceVersion: "1", ownerReferences: [{uid: u}]}}`,
		"Finalizers":        `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: ua, resourceVersion: "1", finalizers: [a]}}`,
		"DeletionTimestamp": `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: ua, resourceVersion: "1", deletionTimestamp: "2026-01-02T03:04:05Z"}}`,
	} {
		if parseYAML(t, child).Hash == parseYAML(t, other).Hash {
			t.Errorf("a child that differs in %s has the same hash", name)
		}
	}
}
