// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func secretWith(more string) string {
	return `{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {app: shop}}, ` + more + `}`
}

// newSecretWorld makes a world whose host writes stringData into data.
func newSecretWorld(t *testing.T, method Method) *world {
	w := newWorld(t, web, secrets).method(method)
	w.schemas[secrets] = described(t, secrets)
	w.defaults = foldStringData
	return w
}

func (w *world) secretRecord() string {
	text, _ := w.child(secrets, "a").Annotation(object.LastAppliedAnnotation)
	return text
}

// noValuesIn fails if a text has one of the values of the tests, or what the host makes of it.
func noValuesIn(t *testing.T, text string) {
	t.Helper()
	for _, value := range []string{"b25l", "dHdv", "dGhyZWU", `"one"`, `"two"`, `"three"`, big("x")} {
		if strings.Contains(text, value) {
			t.Errorf("%q is in %.1000s", value, text)
		}
	}
}

func TestTheRecordOfASecretHasItsKeysAndNotItsValues(t *testing.T) {
	for method, change := range map[Method]string{InPlace: "update", Recreate: "recreate"} {
		t.Run(string(method), func(t *testing.T) {
			w := newSecretWorld(t, method)
			for _, step := range []struct {
				what, content, want string
				data                map[string]any
			}{
				{"it is created", "data: {a: b25l, b: dHdv}, stringData: {c: three}", "create", map[string]any{"a": "b25l", "b": "dHdv", "c": "dGhyZWU="}},
				{"a value changes", "data: {a: dHdv, b: dHdv}, stringData: {c: three}", change, map[string]any{"a": "dHdv", "b": "dHdv", "c": "dGhyZWU="}},
				{"a text changes", "data: {a: dHdv, b: dHdv}, stringData: {c: two}", change, map[string]any{"a": "dHdv", "b": "dHdv", "c": "dHdv"}},
				{"a key of data goes", "data: {b: dHdv}, stringData: {c: two}", change, map[string]any{"b": "dHdv", "c": "dHdv"}},
				{"the texts go", "data: {b: dHdv}", change, map[string]any{"b": "dHdv"}},
				{"a long value comes", "stringData: {b: two, c: " + big("x") + "}", change, nil},
				{"it goes", "stringData: {b: two}", change, map[string]any{"b": "dHdv"}},
			} {
				desired := secretWith(step.content)
				planned := w.plan(w.answer(desired))
				if got := writes(planned); len(got) != 1 || got[0] != step.want+" Secret default/a" {
					t.Errorf("%s: writes %v, refused %.1000v", step.what, got, planned.Refused)
				}
				w.carryOut(planned)
				if step.want == "recreate" {
					w.carryOut(w.plan(w.answer(desired)))
				}
				noValuesIn(t, w.secretRecord())
				if data := decode(t, w.child(secrets, "a"))["data"]; step.data != nil && !cmp.Equal(data, any(step.data)) {
					t.Errorf("%s: data is %v", step.what, data)
				}
				w.upToDate = UpToDateCache{}
				if got := writes(w.plan(w.answer(desired))); len(got) > 0 {
					t.Errorf("%s, and after that it writes %v", step.what, got)
				}
			}
		})
	}
}

// A value that somebody else has written into a key of the hook's is overwritten, and a key that somebody
// else has added stays.
func TestASecretThatOthersHaveChangedIsMended(t *testing.T) {
	w := newSecretWorld(t, InPlace)
	desired := secretWith("data: {a: b25l}, stringData: {c: three}")
	w.carryOut(w.plan(w.answer(desired)))
	content := decode(t, w.child(secrets, "a"))
	content["data"] = map[string]any{"a": "dHdv", "c": "dHdv", "theirs": "dHdv"}
	w.children[secrets] = []*object.Object{w.storedBy("kubectl", content, w.child(secrets, "a").UID)}
	w.upToDate = UpToDateCache{}
	w.carryOut(w.plan(w.answer(desired)))
	if diff := cmp.Diff(any(map[string]any{"a": "b25l", "c": "dGhyZWU=", "theirs": "dHdv"}), decode(t, w.child(secrets, "a"))["data"]); diff != "" {
		t.Errorf("data differs (-want +got):\n%s", diff)
	}
}

// Metacontroller, and former versions of ours, recorded Secrets whole.
func TestAWholeRecordOfASecretIsReadAndReplacedByTheNextWrite(t *testing.T) {
	w := newSecretWorld(t, InPlace)
	const applied = "stringData: {a: one, b: two}, data: {c: dGhyZWU=}"
	w.children[secrets] = []*object.Object{w.made(secretWith("data: {a: b25l, b: dHdv, c: dGhyZWU=}"), secretWith(applied))}
	if got := writes(w.plan(w.answer(secretWith(applied)))); len(got) > 0 {
		t.Errorf("a Secret that is as it should be is written: %v", got)
	}
	if !strings.Contains(w.secretRecord(), "dGhyZWU") {
		t.Fatalf("the record is not whole: %s", w.secretRecord())
	}
	w.carryOut(w.plan(w.answer(secretWith("stringData: {a: one}, data: {c: dGhyZWU=}"))))
	noValuesIn(t, w.secretRecord())
	if diff := cmp.Diff(any(map[string]any{"a": "b25l", "c": "dGhyZWU="}), decode(t, w.child(secrets, "a"))["data"]); diff != "" {
		t.Errorf("data differs (-want +got):\n%s", diff)
	}
}

func TestASecretThatMovesToDynamicApplyIsRecordedWithoutItsValues(t *testing.T) {
	w := newSecretWorld(t, InPlace)
	desired := secretWith("data: {a: b25l}")
	w.hasApplied(secrets, desired, strings.ReplaceAll(fieldsOfA, "f:key", "f:a"))
	step := stepFor(t, w.plan(w.answer(desired)), "a")
	if step.Op != pipeline.ToDynamicApply || !strings.Contains(string(step.Body), digestOf("b25l")) {
		t.Errorf("%s with %s", step.Op, step.Body)
	}
	noValuesIn(t, string(step.Body))
}

// What is called a Secret in another group has no data that must not be shown.
func TestTheRecordOfAnotherKindIsWhole(t *testing.T) {
	for _, content := range []map[string]any{
		{"apiVersion": "vault.example/v1", "kind": "Secret", "data": map[string]any{"a": "b25l"}},
		{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "b25l"}},
	} {
		if record, err := encodeLastApplied(content, nil); err != nil || !strings.Contains(record, "b25l") {
			t.Errorf("the record is %s, error %v", record, err)
		}
	}
}

// For any three values, merging does not depend on whether what was last applied has the values.
func FuzzRecordOfASecret(f *testing.F) {
	f.Add([]byte("some choices that make an object, then another one, and so on"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		g := generator{choices}
		secret := func() map[string]any {
			return map[string]any{"apiVersion": "v1", "kind": "Secret", "data": g.object(2), "stringData": g.object(2)}
		}
		observed, last, desired := secret(), secret(), secret()
		read := lengthened(withoutSecretValues(last, last), observed, desired)
		for _, at := range []location{{}, {ownersKnown: true}} {
			want := at.merge(copied(observed), copied(last), copied(desired))
			got := at.merge(copied(observed), copied(read), copied(desired))
			if path, differ := difference(want, got); differ {
				t.Errorf("without the values in the record the merge differs at %.300q", path)
			}
		}
	})
}
