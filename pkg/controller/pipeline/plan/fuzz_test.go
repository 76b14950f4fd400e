// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// FuzzMerge holds for any three values that what is desired is in the result, and
// that merging once more changes nothing.
func FuzzMerge(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		choices := make([]byte, 40)
		for i := range choices {
			choices[i] = byte(random.UintN(256))
		}
		f.Add(choices)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		g := generator{choices}
		observed, last, desired := g.object(4), g.object(4), g.object(4)
		merged := location{}.merge(copied(observed), copied(last), copied(desired))
		if !contains(merged, desired) {
			t.Errorf("%s over %s gives %s, which lacks something", goSyntax(desired), goSyntax(observed), goSyntax(merged))
		}
		again := location{}.merge(copied(merged), copied(desired), copied(desired))
		if path, differ := difference(merged, again); differ {
			t.Errorf("%s over %s gives %s, and once more %s: it differs at %q", goSyntax(desired), goSyntax(observed), goSyntax(merged), goSyntax(again), path)
		}
		ours := location{ownersKnown: true}
		merged = ours.merge(copied(observed), copied(last), copied(desired))
		again = ours.merge(copied(merged), copied(desired), copied(desired))
		if path, differ := difference(merged, again); differ {
			t.Errorf("where nobody else has written, %s over %s gives %s, and once more %s: it differs at %q", goSyntax(desired), goSyntax(observed), goSyntax(merged), goSyntax(again), path)
		}
	})
}

// generator makes JSON out of bytes. It knows few names and values, so that those of
// two values often are the same.
type generator struct{ choices []byte }

func (g *generator) choose(among int) int {
	if len(g.choices) == 0 {
		return 0
	}
	chosen := int(g.choices[0]) % among
	g.choices = g.choices[1:]
	return chosen
}

func (g *generator) value(depth int) any {
	if depth == 0 {
		return [...]any{nil, true, int64(1), 1.0, int64(2), "1", "x"}[g.choose(7)]
	}
	switch g.choose(4) {
	case 0:
		return g.object(depth)
	case 1:
		return g.list(depth)
	default:
		return g.value(0)
	}
}

func (g *generator) object(depth int) any {
	object := map[string]any{}
	for range g.choose(4) {
		name := [...]string{"a", "b", "name", "port", "containerPort"}[g.choose(5)]
		below := depth - 1
		if len(name) > 1 {
			below = 0 // what identifies an item is no object
		}
		object[name] = g.value(below)
	}
	return object
}

// list makes lists of anything, but most often of objects that have names.
func (g *generator) list(depth int) any {
	list := []any{}
	named := g.choose(4) > 0
	for range g.choose(4) {
		if !named {
			list = append(list, g.value(depth-1))
			continue
		}
		item := g.object(depth - 1).(map[string]any)
		item["name"] = g.value(0)
		list = append(list, item)
	}
	return list
}

// FuzzComposite holds for any child and any answer that planning does not panic, that
// what is to be sent is an object, and that once it is there nothing is left to do.
func FuzzComposite(f *testing.F) {
	const child = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","labels":{"app":"shop"}},"data":{"a":"1"}}`
	f.Add([]byte(child), child, []byte(child), []byte(`{"ready":true}`), true)
	f.Add([]byte(child), "", []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":null,"ownerReferences":[{"uid":"x"}]},"data":null}`), []byte(`null`), false)
	f.Add([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","annotations":null,"uid":"u"},"data":[{"name":"x"}]}`), `{"data":[{"name":"y"}],"metadata":null}`,
		[]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"","uid":"v","labels":null,"generation":1},"data":[{"name":"x","y":null}],"status":1}`), []byte(`{"observedGeneration":null}`), true)
	f.Fuzz(func(t *testing.T, observedRaw []byte, record string, desiredRaw, status []byte, inPlace bool) {
		observed, err := object.Parse(observedRaw)
		if err != nil {
			return
		}
		desired, err := object.Parse(desiredRaw)
		if err != nil {
			return
		}
		if observed = recorded(observed, record); observed == nil {
			return
		}
		strategies := Strategies{configMaps.GroupKind(): {Method: Recreate}}
		if inPlace {
			strategies[configMaps.GroupKind()] = Strategy{Method: InPlace}
		}
		response := &pipeline.Response{Children: []*object.Object{desired}, Status: status}
		planned, err := Composite(fuzzSnapshot(t, observed), response, strategies, &UpToDateCache{})
		if err != nil {
			return
		}
		for _, step := range planned.Steps {
			if step.Op != pipeline.Create && step.Op != pipeline.Update {
				continue
			}
			written, err := object.Parse(step.Body)
			if err != nil {
				t.Fatalf("%s sends %s: %v", step.Op, step.Body, err)
			}
			again, err := Composite(fuzzSnapshot(t, written), response, strategies, &UpToDateCache{})
			if err != nil {
				t.Fatal(err)
			}
			for _, left := range again.Steps {
				if left.Op != pipeline.Status && left.Op.Writes() {
					t.Errorf("after %s of %s there is still %s of %s/%s because %s", step.Op, step.Body, left.Op, left.Namespace, left.Name, left.Why)
				}
			}
		}
	})
}

func fuzzSnapshot(t *testing.T, child *object.Object) *pipeline.Snapshot {
	return &pipeline.Snapshot{
		Managed:    true,
		ParentType: webs, Parent: parseYAML(t, web), Selector: labels.Everything(),
		GeneratedLabels: map[string]string{"controller-uid": "parent-uid"},
		Children:        []pipeline.Group{{Type: configMaps, Claimed: []*object.Object{child}}},
	}
}

// recorded returns a child with an annotation of what was last applied; nil if it cannot have one.
func recorded(child *object.Object, record string) *object.Object {
	content, err := child.Decode()
	if err != nil {
		return nil
	}
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return nil
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
	}
	annotations[object.LastAppliedAnnotation] = record
	metadata["annotations"] = annotations
	raw, err := json.Marshal(content)
	if err != nil {
		return nil
	}
	result, err := object.Parse(raw)
	if err != nil {
		return nil
	}
	return result
}

// contains reports whether all that is wanted is in a value; a null wants nothing.
func contains(value, wanted any) bool {
	switch wanted := wanted.(type) {
	case nil:
		return true
	case map[string]any:
		value, ok := value.(map[string]any)
		for name := range wanted {
			ok = ok && contains(value[name], wanted[name])
		}
		return ok
	case []any:
		value, ok := value.([]any)
		for _, item := range wanted {
			ok = ok && slices.ContainsFunc(value, func(candidate any) bool { return contains(candidate, item) })
		}
		return ok
	default:
		_, differ := difference(value, wanted)
		return !differ
	}
}

func copied(value any) any { return runtime.DeepCopyJSONValue(value) }

func goSyntax(value any) string { return fmt.Sprintf("%#v", value) }

// FuzzDecorator holds for any target and any answer that planning does not panic, that
// what is to be sent is an object with nothing lost, and that once it is there nothing is
// left to do.
func FuzzDecorator(f *testing.F) {
	const target = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u","labels":{"a":"1"},"annotations":null},"data":{"a":"1"}}`
	f.Add([]byte(target), "a", "1", true, []byte(`{"ready":true}`))
	f.Add([]byte(target), "b\"", "", false, []byte(`null`))
	f.Add([]byte(`{"kind":"A","metadata":{"annotations":{"a":"\ud800","a":"2"}},"status":null}`), "a", "\xff", false, []byte(`{}`))
	f.Add([]byte(`{"kind":"A","metadata":null,"status":[1]}`), "a", "1", false, []byte(`{"a":null}`))
	f.Fuzz(func(t *testing.T, observedRaw []byte, key, value string, takeAway bool, status []byte) {
		observed, err := object.Parse(observedRaw)
		if err != nil {
			return
		}
		// What comes out of JSON is valid.
		key, value = strings.ToValidUTF8(key, "?"), strings.ToValidUTF8(value, "?")
		wanted := &value
		if takeAway {
			wanted = nil
		}
		response := &pipeline.Response{Labels: map[string]*string{key: wanted}, Annotations: map[string]*string{key: &value}, Status: status}
		planned, err := Decorator(&pipeline.Snapshot{ParentType: configMaps, Parent: observed}, response, nil, &UpToDateCache{})
		if err != nil || len(planned.Steps) == 0 {
			return
		}
		written, err := object.Parse(planned.Steps[0].Body)
		if err != nil {
			t.Fatalf("it sends %s: %v", planned.Steps[0].Body, err)
		}
		if string(written.Lookup("data")) != string(observed.Lookup("data")) || written.Name != observed.Name {
			t.Errorf("of %s it makes %s", observedRaw, written.JSON())
		}
		again, err := Decorator(&pipeline.Snapshot{ParentType: configMaps, Parent: written}, response, nil, &UpToDateCache{})
		if err != nil {
			t.Fatal(err)
		}
		for _, left := range again.Steps {
			t.Errorf("after %s there is still %s because %s", written.JSON(), left.Op, left.Why)
		}
	})
}
