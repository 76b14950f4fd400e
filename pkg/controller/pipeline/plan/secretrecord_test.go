// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
