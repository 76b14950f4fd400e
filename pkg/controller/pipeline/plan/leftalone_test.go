// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

// ofParent is a child that the parent controls, with more metadata. Nothing was applied to it.
func ofParent(metadata string) string {
	return `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: u, resourceVersion: "7", ` +
		`labels: {app: shop}, ` + metadata + `, ownerReferences: [` + ours + `]}}`
}

// withRecord is the annotation with the record of what was last applied.
func withRecord(text string) string {
	return `annotations: {` + object.LastAppliedAnnotation + `: '` + text + `'}`
}

func TestOnlyWhatTheControllerHasMadeOrNamedIsDeleted(t *testing.T) {
	long := strings.Repeat("a", 100)
	tests := map[string]struct {
		child   string
		applied string // the fields that server-side apply owns
		kept    bool
	}{
		"it was adopted": {child: ofParent("generation: 1"), kept: true},
		"it has a record": {
			child: ofParent(withRecord(`{"kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}`)),
		},
		"it has a record without a namespace": {child: ofParent(withRecord(`{"kind":"ConfigMap","metadata":{"name":"a"}}`))},
		"it has a record of no name":          {child: ofParent(withRecord(`{"data":{}}`))},
		"its name is shortened in the record": {
			child: strings.Replace(
				ofParent(withRecord(`{"metadata":{"name":"`+digestOf(long)+`"}}`)), "name: a,", "name: "+long+",", 1),
		},
		"server-side apply owns fields of it": {child: ofParent("generation: 1"), applied: fieldsOfA},
		"server-side apply of another parent owns fields of it": {
			child: ofParent("generation: 1"), applied: strings.ReplaceAll(fieldsOfA, "parent-uid", "another"), kept: true,
		},
		"it has the record of another kind": {
			child: ofParent(withRecord(`{"kind":"Secret","metadata":{"name":"a"}}`)),
			kept:  true,
		},
		"it has the record of another name": {
			child: ofParent(withRecord(`{"kind":"ConfigMap","metadata":{"name":"b"}}`)),
			kept:  true,
		},
		"it was copied from another namespace": {
			child: ofParent(withRecord(`{"kind":"ConfigMap","metadata":{"name":"a","namespace":"x"}}`)),
			kept:  true,
		},
		"its record is empty":           {child: ofParent(withRecord(``)), kept: true},
		"its record is null":            {child: ofParent(withRecord(`null`)), kept: true},
		"its record is an empty object": {child: ofParent(withRecord(`{}`)), kept: true},
		"its record is spoiled":         {child: ofParent(withRecord(`{`)), kept: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			child := parseYAML(t, test.child)
			if test.applied != "" {
				child.Applied = []byte(test.applied)
			}
			w := newWorld(t, web, configMaps)
			w.children[configMaps] = []*object.Object{child}
			planned := w.plan(w.answer())
			if kept := len(writes(planned)) == 0; kept != test.kept {
				t.Errorf("the writes are %v", writes(planned))
			}
			if warned := len(planned.Warnings) == 1 && planned.Warnings[0].Reason == v1alpha1.ReasonChildKept; warned != test.kept {
				t.Errorf("the warnings are %v", planned.Warnings)
			}
		})
	}
}

func TestTheWarningAboutKeptChildrenSaysWhatToDo(t *testing.T) {
	w := newWorld(t, web, configMaps)
	w.hasAsIs(configMaps, ofParent("generation: 1"))
	w.hasAsIs(configMaps, strings.Replace(ofParent("generation: 1"), "name: a,", "name: b,", 1))
	want := []pipeline.Warning{{Reason: v1alpha1.ReasonChildKept, About: "ConfigMap", Message: "" +
		"ConfigMap default/a and 1 more: the parent controls it but the hook has never listed it, " +
		"so it may belong to others and the server keeps it; to delete it, list it in an answer and " +
		"leave it out afterwards; to release it, change its labels so that the parent's selector does not match them"}}
	if diff := cmp.Diff(want, w.plan(w.answer()).Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// A child that an answer has named is deleted when an answer no longer does, whatever the update method is.
func TestAnAdoptedChildThatWasNamedIsDeleted(t *testing.T) {
	for _, method := range []Method{"", OnDelete, InPlace, Recreate} {
		t.Run("method "+string(method), func(t *testing.T) {
			const owners = `, ownerReferences: [` + ours + `]}`
			orphan := strings.Replace(ofParent("generation: 1"), owners, `}, data: {key: one}`, 1)
			w := newWorld(t, web, configMaps).method(method).hasAsIs(configMaps, orphan)
			w.carryOut(w.plan(w.answer())) // adopted
			w.carryOut(w.plan(w.answer(childA)))
			if again := writes(w.plan(w.answer(childA))); len(again) > 0 {
				t.Errorf("another sync writes %v", again)
			}
			if diff := cmp.Diff([]string{"delete ConfigMap default/a"}, writes(w.plan(w.answer()))); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// Another controller, or the same one in an earlier life of the parent, has created the orphan and let it go.
func TestAnOrphanOfAnotherControllerIsKept(t *testing.T) {
	const owners = `, ownerReferences: [` + ours + `]}`
	record := withRecord(`{"kind":"ConfigMap","metadata":{"name":"a"}}`)
	w := newWorld(t, web, configMaps).hasAsIs(configMaps, strings.Replace(ofParent(record), owners, `}`, 1))
	w.carryOut(w.plan(w.answer())) // adopted
	if again := writes(w.plan(w.answer())); len(again) > 0 {
		t.Errorf("the sync after the adoption writes %v", again)
	}
}

func TestAnOrphanThatTheHookListsKeepsItsRecord(t *testing.T) {
	const owners = `, ownerReferences: [` + ours + `]}`
	record := withRecord(`{"kind":"ConfigMap","metadata":{"name":"a"},"data":{"key":"one","old":"1"}}`)
	orphan := strings.Replace(ofParent(record), owners, `}, data: {key: one, old: "1"}`, 1)
	w := newWorld(t, web, configMaps).method(InPlace).hasAsIs(configMaps, orphan)
	w.carryOut(w.plan(w.answer(childA)))
	if diff := cmp.Diff([]string{"update ConfigMap default/a"}, writes(w.plan(w.answer(childA)))); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// An object may have a copy of another object's record. The first answer that names the object replaces the copy.
func TestAChildWithACopiedRecordIsDeletedOnceItWasNamed(t *testing.T) {
	copied := ofParent(withRecord(`{"kind":"ConfigMap","metadata":{"name":"b"}}`))
	for _, method := range []Method{"", OnDelete, InPlace, Recreate} {
		t.Run("method "+string(method), func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(method).hasAsIs(configMaps, copied)
			w.carryOut(w.plan(w.answer(childA)))
			if method == Recreate {
				w.carryOut(w.plan(w.answer(childA)))
			}
			if diff := cmp.Diff([]string{"delete ConfigMap default/a"}, writes(w.plan(w.answer()))); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// The plan deletes no kept child. If a finalize hook saw one and waited for its end, it would never finish.
func TestAFinalizeHookIsNotShownChildrenThatAreKept(t *testing.T) {
	const inDeletion = `deletionTimestamp: "2026-01-01T00:00:00Z"`
	for name, test := range map[string]struct {
		child            string
		alive, unmanaged bool
		shown            bool
	}{
		"one that was adopted":                               {child: ofParent("generation: 1")},
		"one that was named":                                 {child: ofParent(withRecord(`{"metadata":{"name":"a"}}`)), shown: true},
		"one that is being deleted":                          {child: ofParent(inDeletion), shown: true},
		"an adopted one, to a sync hook":                     {child: ofParent("generation: 1"), alive: true, shown: true},
		"an adopted one that the garbage collector looks at": {child: ofParent("generation: 1"), unmanaged: true, shown: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps).hasAsIs(configMaps, test.child)
			snapshot := w.snapshot()
			snapshot.Finalizing, snapshot.Managed = !test.alive, !test.unmanaged
			HideKept(snapshot)
			if hidden := len(snapshot.Children[0].Kept) == 1; hidden == test.shown {
				t.Errorf("kept are %v", snapshot.Children[0].Kept)
			}
			if shown := len(snapshot.Children[0].Claimed) == 1; shown != test.shown {
				t.Errorf("the hook is shown %v", snapshot.Children[0].Claimed)
			}
		})
	}
}

// What is recorded of a name is not what the hook wants: the child differs from that as before.
func TestANamedChildThatDiffersIsStillOutdated(t *testing.T) {
	w := newWorld(t, web, configMaps).method(OnDelete).hasAsIs(configMaps, ofParent("generation: 1"))
	w.carryOut(w.plan(w.answer(childA)))
	planned := w.plan(w.answer(childA))
	if planned.Outdated != 1 || len(writes(planned)) > 0 {
		t.Errorf("outdated are %d, the writes are %v", planned.Outdated, writes(planned))
	}
}

// Server-side apply owns no more than the reference to the parent, so that the content stays as it is.
func TestANameIsRecordedUnderServerSideApply(t *testing.T) {
	w := newWorld(t, web, configMaps).serverSide(OnDelete).hasAsIs(configMaps, ofParent("generation: 1"))
	step := stepFor(t, w.plan(w.answer(childA)), "a")
	want := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default",` +
		`"ownerReferences":[{"apiVersion":"ctl.example/v1","blockOwnerDeletion":true,"controller":true,` +
		`"kind":"Web","name":"shop","uid":"parent-uid"}],"uid":"u"}}`
	if step.Op != pipeline.Apply || step.Desired != 0 || string(step.Body) != want {
		t.Errorf("%s because %s, of %d: %s", step.Op, step.Why, step.Desired, step.Body)
	}
}

func TestWhatWasAppliedForAnotherParentStays(t *testing.T) {
	adopted := strings.Replace(ofParent("generation: 1"), "}}", "}, data: {key: one}}", 1)
	applied := strings.ReplaceAll(fieldsOfA, "parent-uid", "uid-of-another")
	w := newWorld(t, web, configMaps).serverSide(OnDelete).hasAsIs(configMaps, adopted)
	w.children[configMaps][0].Applied = []byte(applied)
	step := stepFor(t, w.plan(w.answer(childA)), "a")
	if step.Op != pipeline.Apply || !strings.Contains(string(step.Body), `"data":{"key":"one"}`) ||
		!strings.Contains(string(step.Body), `"uid":"parent-uid"`) {
		t.Errorf("%s because %s: %s", step.Op, step.Why, step.Body)
	}
}

func TestAParentIsNotItsOwnChild(t *testing.T) {
	const itself = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, labels: {app: shop}}}`
	for name, w := range map[string]*world{
		"of a composite": newWorld(t, web, webs), "of a decorator": newTarget(t, targetWith("", ""), webs),
	} {
		t.Run(name, func(t *testing.T) {
			planned := w.plan(w.answer(itself, strings.Replace(itself, "name: shop", "name: other", 1)))
			if diff := cmp.Diff([]string{"create Web default/other"}, writes(planned)); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			want := []string{"child Web shop is the parent itself, which cannot be its own child; " +
				"give it another name, or leave it out"}
			if diff := cmp.Diff(want, refusals(planned)); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutdatedChildren(t *testing.T) {
	const childB, childBChanged = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}, data: {key: one}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}, data: {key: two}}`
	tests := map[string]struct {
		observed, desired []string
		want              map[Method]int
	}{
		"children as they are wanted": {[]string{childA, childB}, []string{childA, childB}, nil},
		"one that differs":            {[]string{childA, childB}, []string{childA, childBChanged}, map[Method]int{"": 1, OnDelete: 1}},
		"two that differ":             {[]string{childA, childB}, []string{childAChanged, childBChanged}, map[Method]int{"": 2, OnDelete: 2}},
		"a new one":                   {nil, []string{childA}, nil},
		"one that is not wanted":      {[]string{childA}, nil, nil},
	}
	for name, test := range tests {
		for _, method := range []Method{"", OnDelete, Recreate, InPlace} {
			t.Run(fmt.Sprintf("%s, %s", name, method), func(t *testing.T) {
				w := newWorld(t, web, configMaps).method(method).has(configMaps, test.observed...)
				for range 2 {
					if planned := w.plan(w.answer(test.desired...)); planned.Outdated != test.want[method] {
						t.Errorf("%d are outdated, want %d", planned.Outdated, test.want[method])
					}
				}
			})
		}
	}
}

func TestAChildThatIsBeingDeletedIsNotOutdated(t *testing.T) {
	w := newWorld(t, web, configMaps).has(configMaps, childA)
	w.child(configMaps, "a").DeletionTimestamp = &w.parent.CreationTimestamp
	if planned := w.plan(w.answer(childAChanged)); planned.Outdated != 0 {
		t.Errorf("%d are outdated", planned.Outdated)
	}
}

func TestAnUnknownFieldAloneMakesNoChildOutdated(t *testing.T) {
	w := newWorld(t, web, deployments).has(deployments, deployment("a", "replicas: 5"))
	w.schemas[deployments] = described(t, deployments)
	if planned := w.plan(w.answer(deployment("a", "replicas: 5, nonsense: 1"))); planned.Outdated != 0 || len(planned.Warnings) != 1 {
		t.Errorf("%d are outdated, and the warnings are %v", planned.Outdated, planned.Warnings)
	}
}

// Nobody may delete an outdated child for a long time.
func TestAnOutdatedChildIsComparedOnce(t *testing.T) {
	quiet := func(answered string) int {
		w := newWorld(t, web, configMaps).has(configMaps, childA)
		snapshot, answer := w.snapshot(), w.answer(answered)
		return alloctest.Least(func() {
			if _, err := Composite(snapshot, answer, w.strategies, &w.upToDate); err != nil {
				t.Fatal(err)
			}
		})
	}
	if equal, outdated := quiet(childA), quiet(childAChanged); outdated != equal {
		t.Errorf("an outdated child takes %d allocations, an equal one %d", outdated, equal)
	}
}

func TestPruneForgetsOutdatedChildren(t *testing.T) {
	w := newWorld(t, web, configMaps)
	for i := range 50 {
		w.children[configMaps] = nil
		w.has(configMaps, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d, labels: {app: shop}}}`, i))
		planned := w.plan(w.answer(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d, labels: {app: shop}}, data: {a: b}}`, i)))
		if planned.Outdated != 1 {
			t.Fatalf("%d are outdated", planned.Outdated)
		}
		w.upToDate.Prune(w.snapshot())
		if known := len(w.upToDate.outdated); known > 2 {
			t.Fatalf("after sync %d, %d are remembered", i, known)
		}
	}
}

func TestWarningsOfOutdatedChildren(t *testing.T) {
	const childB = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}, data: {key: one}}`
	const childBChanged = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}, data: {key: two}}`
	const field = "spec.childResources[3].updateStrategy.method"
	notSet := func(objects, path string) []pipeline.Warning {
		return []pipeline.Warning{{Reason: v1alpha1.ReasonChildOutdated, About: "ConfigMap " + path,
			Message: objects + ": it differs from the desired state, first at " + path +
				", and the server does not update it, because " + field + " is not set: set it to InPlace or Recreate, or to " +
				"OnDelete if the child should stay as it is"}}
	}
	tests := map[string]struct {
		method            Method
		observed, desired []string
		want              []pipeline.Warning
	}{
		"a child as it is wanted": {"", []string{childB}, []string{childB}, nil},
		"one that differs": {"", []string{childA, childB}, []string{childA, childBChanged},
			notSet("ConfigMap default/b", "data.key")},
		"two that differ": {"", []string{childA, childB}, []string{childAChanged, childBChanged},
			notSet("ConfigMap default/a and 1 more", "data.key")},
		"one that differs and is to be so": {OnDelete, []string{childB}, []string{childBChanged},
			[]pipeline.Warning{{Reason: v1alpha1.ReasonChildOutdated, Chosen: true, About: "ConfigMap data.key",
				Message: "ConfigMap default/b: it differs from the desired state, first at data.key, and the server does not " +
					"update it, because " + field + " is OnDelete: the server creates it again when you delete it"}}},
		"one that differs and is made as such": {InPlace, []string{childB}, []string{childBChanged}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps).has(configMaps, test.observed...)
			w.strategies[configMaps.GroupKind()] = Strategy{Method: test.method, Field: field}
			for range 2 {
				if diff := cmp.Diff(test.want, w.plan(w.answer(test.desired...)).Warnings); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// The cluster fills in, changes and drops fields when a child is made. After a restart, nobody knows any
// more that the difference comes from this.
func TestAChildThatTheHostHasChangedIsNotOutdated(t *testing.T) {
	const wanted = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {kept: one, changed: two, dropped: three}}`
	const stored = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {kept: one, changed: "2", added: four}}`
	const wantedNow = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {kept: other, changed: two, dropped: three}}`
	w := newWorld(t, web, configMaps)
	w.children[configMaps] = append(w.children[configMaps], w.applied(configMaps, stored, wanted))
	if planned := w.plan(w.answer(wanted)); planned.Outdated != 0 {
		t.Errorf("%d are outdated, with %v", planned.Outdated, planned.Warnings)
	}
	if planned := w.plan(w.answer(wantedNow)); planned.Outdated != 1 {
		t.Errorf("of an answer that has changed, %d are outdated", planned.Outdated)
	}
}

// A child of one controller that is handed over to another has the marks of both, and is not replaced because of them.
func TestAChildThatIsHandedOverIsNotReplaced(t *testing.T) {
	const (
		label      = object.GeneratedLabel + ": parent-uid"
		stamp      = decoratorAnnotation + ": deco"
		labelField = `"f:labels":{"f:app":{},"f:` + object.GeneratedLabel + `":{}}`
	)
	child := func(labels, annotations string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop, ` + labels +
			`}, annotations: {note: x, ` + annotations + `}}, data: {key: one}}`
	}
	tests := map[string]struct {
		to func(testing.TB) *world
		// observed is the child after it was handed over, last what the former controller applied, and fields what
		// server-side apply owns.
		observed, last, fields string
	}{
		"from a composite to a decorator": {
			to:       func(t testing.TB) *world { return newTarget(t, web, configMaps) },
			observed: child(label, stamp), last: child(label, ""), fields: labelField,
		},
		"from another decorator": {
			to:       func(t testing.TB) *world { return newTarget(t, web, configMaps) },
			observed: child("", stamp), last: child("", decoratorAnnotation+": other"), fields: `"f:labels":{"f:app":{}}`,
		},
		"from a decorator to a composite": {
			to: func(t testing.TB) *world {
				w := newWorld(t, web, configMaps)
				w.generate = true
				return w
			},
			observed: child(label, ""), last: child("", stamp), fields: `"f:labels":{"f:app":{}}`,
		},
		"from a composite that generates its selector": {
			to:       func(t testing.TB) *world { return newWorld(t, web, configMaps) },
			observed: child(label, ""), last: child(label, ""), fields: labelField,
		},
	}
	wanted := child("", "")
	for name, test := range tests {
		for _, engine := range []Engine{DynamicApply, ServerSideApply} {
			for _, method := range []Method{"", OnDelete, Recreate} {
				t.Run(fmt.Sprintf("%s, %s, %s", name, engine, method), func(t *testing.T) {
					w := test.to(t)
					if w.generate = false; engine == ServerSideApply {
						w.hasApplied(configMaps, test.observed,
							`{"f:metadata":{`+test.fields+`,"f:annotations":{"f:note":{}},`+ownerField+`},"f:data":{"f:key":{}}}`)
					} else {
						w.children[configMaps] = append(w.children[configMaps], w.applied(configMaps, test.observed, test.last))
					}
					w.generate = test.to(t).generate
					w.strategies[configMaps.GroupKind()] = Strategy{Method: method, Engine: engine}
					planned := w.plan(w.answer(wanted))
					step := stepFor(t, planned, "a")
					if planned.Outdated != 0 || step.Op == pipeline.Recreate || step.Op.Writes() && method != Recreate {
						t.Errorf("%d are outdated, and the step is %s at %s", planned.Outdated, step.Op, step.Path)
					}
					planned = w.plan(w.answer(strings.Replace(wanted, "one", "two", 1)))
					if step := stepFor(t, planned, "a"); planned.Outdated != 1 && step.Op != pipeline.Recreate {
						t.Errorf("of another answer, %d are outdated, and the step is %s", planned.Outdated, step.Op)
					}
				})
			}
		}
	}
}
