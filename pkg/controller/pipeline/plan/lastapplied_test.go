// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestRecordFor(t *testing.T) {
	const most = validation.TotalAnnotationSizeLimitB
	long := strings.Repeat("x", most)
	data := func(text string) map[string]any { return map[string]any{"data": map[string]any{"a": text, "b": "1"}} }
	overhead := len(`{"data":{"a":"","b":"1"}}`) + len(object.LastAppliedAnnotation)
	others := func(text string) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{"o": text, object.LastAppliedAnnotation: "the one before"}}}
	}
	many := map[string]any{}
	for i := range 10_000 {
		many[fmt.Sprintf("name-%05d", i)] = strings.Repeat("y", 20)
	}
	whole := func(applied map[string]any) string { record, _ := json.Marshal(applied); return string(record) }
	for name, test := range map[string]struct {
		applied, child map[string]any
		want           string
		err            string // part of it
	}{
		"what fits is whole":                      {data("<x>"), nil, `{"data":{"a":"\u003cx\u003e","b":"1"}}`, ""},
		"what just fits is whole":                 {data(long[overhead:]), nil, whole(data(long[overhead:])), ""},
		"of what does not, long texts are not":    {data(long[overhead-1:]), nil, whole(data(digestOf(long[overhead-1:]))), ""},
		"other annotations take of the room":      {data(long[overhead:]), others(""), whole(data(digestOf(long[overhead:]))), ""},
		"the record before does not":              {data(long[overhead+1:]), others(""), whole(data(long[overhead+1:])), ""},
		"not even the structure fits":             {many, nil, "", fmt.Sprintf("takes %d bytes even without long texts, its other annotations take 0, and a cluster allows 262144", len(whole(many)))},
		"other annotations leave room for little": {data("1"), others(long[60:]), "", "updateStrategy.apply: ServerSideApply"},
	} {
		t.Run(name, func(t *testing.T) {
			record, err := encodeLastApplied(test.applied, test.child)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || len(err.Error()) > 1000 {
					t.Errorf("error is %.2000v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil || record != test.want {
				t.Errorf("the record is %.200s (%d bytes), error %v, want %.200s (%d bytes)", record, len(record), err, test.want, len(test.want))
			}
		})
	}
}

// A child whose last applied configuration does not fit needs no second write, even with an empty
// cache.
func TestChildrenWhoseRecordIsShortened(t *testing.T) {
	child := func(data string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {" + data + "}}"
	}
	for method, change := range map[Method]string{InPlace: "update", Recreate: "recreate"} {
		t.Run(string(method), func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(method)
			for _, step := range []struct{ what, data, want string }{
				{"it is created", "one: " + big("x") + ", two: " + big("y"), "create"},
				{"a text changes", "one: " + big("z") + ", two: " + big("y"), change},
				{"a text is named no longer", "two: " + big("y"), change},
				{"it fits", "two: short", change},
				{"it fits no longer", "two: " + big("y"), change},
			} {
				planned := w.plan(w.answer(child(step.data)))
				if got := writes(planned); len(got) != 1 || got[0] != step.want+" ConfigMap default/a" {
					t.Errorf("%s: writes %v, refused %.1000v", step.what, got, planned.Refused)
				}
				w.carryOut(planned)
				if step.want == "recreate" {
					w.carryOut(w.plan(w.answer(child(step.data))))
				}
				for _, remembered := range []string{"remembered", "forgotten"} {
					if got := writes(w.plan(w.answer(child(step.data)))); len(got) > 0 {
						t.Errorf("%s, and after that, with what was done %s, writes %v", step.what, remembered, got)
					}
					w.upToDate = UpToDateCache{}
				}
			}
			if data := decode(t, w.child(configMaps, "a"))["data"].(map[string]any); len(data) != 1 {
				t.Errorf("%d texts are left, not one", len(data))
			}
		})
	}
}

func TestMovingChildrenWhoseRecordIsShortened(t *testing.T) {
	child := "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {key: " + big("x") + "}}"
	w := newWorld(t, web, configMaps).method(InPlace).hasApplied(configMaps, child, fieldsOfA)
	step := stepFor(t, w.plan(w.answer(child)), "a")
	if body := string(step.Body); step.Op != pipeline.ToDynamicApply || len(body) > 1000 || !strings.Contains(body, digestOf(big("x"))) {
		t.Errorf("%s with %.1000s", step.Op, body)
	}
	w = newWorld(t, web, configMaps).method(InPlace)
	w.carryOut(w.plan(w.answer(child)))
	w.upToDate = UpToDateCache{} // another spec is another controller
	step = stepFor(t, w.serverSide(InPlace).plan(w.answer(child)), "a")
	if body := string(step.Body); step.Op != pipeline.ToServerSideApply || !strings.Contains(body, big("x")) {
		t.Errorf("%s with %.1000s", step.Op, body)
	}
}

// A child whose annotation could not be written is not deleted to be created again.
func TestAChildThatCannotBeRecordedIsLeftAlone(t *testing.T) {
	w := newWorld(t, web, configMaps).method(Recreate).has(configMaps, childA)
	desired := parseYAML(t, childA)
	content := decode(t, desired)
	data := map[string]any{}
	for i := range 10_000 {
		data[fmt.Sprintf("name-%05d", i)] = strings.Repeat("y", 20)
	}
	content["data"] = data
	raw, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	planned := w.plan(&pipeline.Response{Children: []*object.Object{parseJSON(t, raw)}})
	if got := writes(planned); len(got) > 0 || len(planned.Refused) != 1 || !strings.HasPrefix(planned.Refused[0].Error(), "child ConfigMap default/a: the record of") {
		t.Errorf("writes %v, refused %.1000v", got, planned.Refused)
	}
}

// big returns a text that is shortened if what was last applied does not fit.
func big(letter string) string { return strings.Repeat(letter, 300_000) }

func TestAShortenedRecordMergesLikeAWholeOne(t *testing.T) {
	set := []any{"a", big("b"), "c"}
	items := []any{map[string]any{"name": big("n"), "value": "1"}, map[string]any{"name": "other", "value": big("v")}}
	for name, test := range map[string]struct{ observed, last, desired map[string]any }{
		"what is named no longer is removed": {
			observed: map[string]any{"a": big("a"), "b": big("b"), "c": "theirs"},
			last:     map[string]any{"a": big("a"), "b": big("b")},
			desired:  map[string]any{"b": big("b")},
		},
		"what the host made of it stays": {
			observed: map[string]any{"a": big("A"), "b": "1"},
			last:     map[string]any{"a": big("a"), "b": "1"},
			desired:  map[string]any{"a": big("a"), "b": "2"},
		},
		"what changed is set": {
			observed: map[string]any{"a": big("A")},
			last:     map[string]any{"a": big("a")},
			desired:  map[string]any{"a": big("z")},
		},
		"items of lists that long texts tell apart": {
			observed: map[string]any{"list": append([]any{map[string]any{"name": "theirs"}}, items...)},
			last:     map[string]any{"list": items},
			desired:  map[string]any{"list": items[1:]},
		},
		"scalars in lists": {
			observed: map[string]any{"set": append([]any{"theirs"}, set...)},
			last:     map[string]any{"set": set},
			desired:  map[string]any{"set": []any{"a"}},
		},
		"a text that looks like a digest": {
			observed: map[string]any{"a": digestOf(big("a")), "b": big("a")},
			last:     map[string]any{"a": digestOf(big("a")), "b": big("a")},
			desired:  map[string]any{"a": digestOf(big("a")), "b": big("b")},
		},
	} {
		t.Run(name, func(t *testing.T) { expectSameMerge(t, test.observed, test.last, test.desired) })
	}
}

// For any three values, merging does not depend on whether what was last applied is shortened.
func FuzzShortenedRecord(f *testing.F) {
	f.Add([]byte("some choices that make an object, then another one, and so on"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		g := generator{choices}
		stretch := func(value any) map[string]any {
			return mapTexts(value, func(text string) string { return strings.Repeat(text, 100) }).(map[string]any)
		}
		expectSameMerge(t, stretch(g.object(4)), stretch(g.object(4)), stretch(g.object(4)))
	})
}

func expectSameMerge(t *testing.T, observed, last, desired map[string]any) {
	t.Helper()
	read := lengthened(shortened(last).(map[string]any), observed, desired)
	for _, at := range []location{{}, {ownersKnown: true}} {
		want := at.merge(copied(observed), copied(last), copied(desired))
		got := at.merge(copied(observed), copied(read), copied(desired))
		if path, differ := difference(want, got); differ {
			t.Errorf("with a shortened record the merge differs at %.300q", path)
		}
	}
}
