// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

const (
	others      = `{apiVersion: v1, kind: Pod, name: p, uid: other}`
	oursNoFlags = `{apiVersion: ctl.example/v1, kind: Web, name: shop, uid: parent-uid}`
)

func TestClaims(t *testing.T) {
	older := strings.Replace(ours, "/v1", "/v1alpha1", 1)
	tests := map[string]struct {
		child string // its labels and owners
		op    pipeline.Op
		why   string
		patch string // its owners
	}{
		"an orphan is adopted": {
			child: `labels: {app: shop}`,
			op:    pipeline.Adopt, why: "the parent's selector matches it and it has no controller",
			patch: `[` + ours + `]`,
		},
		"an orphan keeps the owners it has": {
			child: `labels: {app: shop}, ownerReferences: [` + others + `]`,
			op:    pipeline.Adopt, why: "the parent's selector matches it and it has no controller",
			patch: `[` + others + `, ` + ours + `]`,
		},
		"an orphan that has the parent as a mere owner gets it as its controller": {
			child: `labels: {app: shop}, ownerReferences: [` + oursNoFlags + `, ` + others + `]`,
			op:    pipeline.Adopt, why: "the parent's selector matches it and it has no controller",
			patch: `[` + others + `, ` + ours + `]`,
		},
		"a child that the selector no longer matches is released": {
			child: `labels: {app: other}, ownerReferences: [` + ours + `]`,
			op:    pipeline.Release, why: "the parent's selector no longer matches it",
			patch: `[]`,
		},
		"a child that is released keeps its other owners": {
			child: `labels: {app: other}, ownerReferences: [` + others + `, ` + ours + `]`,
			op:    pipeline.Release, why: "the parent's selector no longer matches it",
			patch: `[` + others + `]`,
		},
		"a child that names the parent in another version gets a new reference": {
			child: `labels: {app: shop}, ownerReferences: [` + older + `, ` + others + `]`,
			op:    pipeline.Adopt, why: "its reference to the parent has a different version from ctl.example/v1",
			patch: `[` + others + `, ` + ours + `]`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps)
			w.hasAsIs(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: u, resourceVersion: "7", `+test.child+`}}`)
			response := w.answer()
			if test.op == pipeline.Adopt {
				response = w.answer(childA)
			}
			planned := w.plan(response)
			step := planned.Steps[0]
			if step.Op != test.op || step.Why != test.why || step.Type != configMaps || step.Observed != w.child(configMaps, "a") ||
				step.Namespace != "default" || step.Name != "a" {
				t.Errorf("the step is %s of %s %s/%s because %q", step.Op, step.Type, step.Namespace, step.Name, step.Why)
			}
			want := map[string]any{"metadata": map[string]any{"uid": "u", "resourceVersion": "7", "ownerReferences": value(t, test.patch)}}
			if diff := cmp.Diff(want, w.content(step.Body)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

// Before an orphan is the parent's, nothing else is done to it: adopting may fail.
func TestAnOrphanIsOnlyAdopted(t *testing.T) {
	const orphan = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: u, resourceVersion: "7", labels: {app: shop}}}`
	tests := map[string]struct {
		answers []string
		want    []string
	}{
		"when the hook lists it otherwise":   {[]string{childAChanged}, []string{"adopt ConfigMap default/a", "keep ConfigMap default/a"}},
		"when the hook does not list it":     {nil, []string{"adopt ConfigMap default/a"}},
		"when the hook lists other children": {[]string{childB}, []string{"adopt ConfigMap default/a", "create ConfigMap default/b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(InPlace).hasAsIs(configMaps, orphan)
			if diff := cmp.Diff(test.want, steps(w.plan(w.answer(test.answers...)))); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// If two parents with the same labels adopted each other, the garbage collector would delete both with one of them.
func TestAnotherParentIsAdoptedOnlyIfTheHookListsIt(t *testing.T) {
	const orphan = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: other, namespace: default, uid: u, labels: {app: shop}}}`
	const other = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: other, labels: {app: shop}}}`
	tests := map[string]struct {
		answers []string
		want    []string
	}{
		"it does not": {},
		"it lists others": {
			[]string{strings.ReplaceAll(other, "other", "third")}, []string{"create Web default/third"},
		},
		"it does": {[]string{other}, []string{"adopt Web default/other", "keep Web default/other"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, webs).method(InPlace).hasAsIs(webs, orphan)
			if diff := cmp.Diff(test.want, steps(w.plan(w.answer(test.answers...))), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheSyncAfterAnAdoptionTreatsTheChildLikeAnyOther(t *testing.T) {
	w := newWorld(t, web, configMaps).method(InPlace).
		hasAsIs(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: u, resourceVersion: "7", labels: {app: shop}}}`).
		hasAsIs(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default, uid: v, resourceVersion: "7", labels: {app: shop}}}`)
	w.carryOut(w.plan(w.answer(childA)))
	if diff := cmp.Diff([]string{"update ConfigMap default/a"}, writes(w.plan(w.answer(childA)))); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// A hook may list owners as a script that was made for kubectl does, or copy them with another object.
func TestOwnersInAnswers(t *testing.T) {
	const (
		secret  = `{apiVersion: v1, kind: Secret, name: r, uid: related}`
		maker   = `{apiVersion: v1, kind: Maker, name: m, uid: maker}`
		related = `{apiVersion: v1, kind: Secret, metadata: {name: r, namespace: %s, uid: related, ` +
			`ownerReferences: [` + maker + `]}}`
	)
	ignored := func(what string) string {
		return "ConfigMap default/a: metadata.ownerReferences names " + what +
			"; leave metadata.ownerReferences out of the answer"
	}
	tests := map[string]struct {
		listed, related string // with the namespace of the related object
		want            string
		warning         string
	}{
		"the parent without controller": {
			listed: `{apiVersion: ctl.example/v1, kind: Web, name: shop, uid: parent-uid}`,
			want:   ours,
		},
		"the parent with controller: false": {
			listed: strings.ReplaceAll(ours, "true", "false"), want: ours,
			warning: ignored("the parent with controller: false: the server writes true, because a parent controls its children"),
		},
		"the parent without UID": {
			listed: `{apiVersion: ctl.example/v1, kind: Web, name: shop, controller: true}`,
			want:   ours,
		},
		"the parent in another version": {
			listed: `{apiVersion: ctl.example/v1alpha1, kind: Web, name: shop, uid: parent-uid}`,
			want:   ours,
		},
		"the parent with the UID of a former one": {
			listed: `{apiVersion: ctl.example/v1, kind: Web, name: shop, uid: former}`,
			want:   ours,
		},
		"the parent twice": {
			listed: ours + `, {apiVersion: ctl.example/v1alpha1, kind: Web, name: shop, uid: parent-uid}`,
			want:   ours,
		},
		"another owner":                 {listed: maker, want: maker + `, ` + ours},
		"another owner, and the parent": {listed: ours + `, ` + maker, want: ours + `, ` + maker},
		"another controller": {
			listed: `{apiVersion: v1, kind: Maker, name: m, uid: maker, controller: true}`, want: ours,
			warning: ignored("Maker m, which cannot own it, because the child has one controller, its parent: the server leaves it out"),
		},
		"the owner of a related object": {
			listed: maker, related: "default", want: ours,
			warning: ignored("Maker m, which cannot own it, because it owns the object that was copied: the server leaves it out"),
		},
		"a related object": {
			listed:  secret,
			related: "default",
			want:    secret + `, ` + ours,
		},
		"a cluster-scoped related object": {
			listed:  secret,
			related: `""`,
			want:    secret + `, ` + ours,
		},
		"a related object of another namespace": {
			listed: secret, related: "other", want: ours,
			warning: ignored("Secret r, which cannot own it, because it is in the namespace other: the server leaves it out"),
		},
	}
	for name, test := range tests {
		for _, engine := range []Engine{DynamicApply, ServerSideApply} {
			t.Run(name+", "+string(engine), func(t *testing.T) {
				w := newWorld(t, web, configMaps)
				w.strategies[configMaps.GroupKind()] = Strategy{Method: InPlace, Engine: engine}
				if test.related != "" {
					w.related = []*object.Object{parseYAML(t, strings.Replace(related, "%s", test.related, 1))}
				}
				answer := w.answer(strings.Replace(childA, "{name: a", "{name: a, ownerReferences: ["+test.listed+"]", 1))
				planned := w.plan(answer)
				want := value(t, `[`+test.want+`]`)
				if diff := cmp.Diff(want, ownersIn(w, planned)); diff != "" {
					t.Errorf("owners (-want +got):\n%s", diff)
				}
				checkOwnerWarning(t, planned, test.warning)
				if engine == ServerSideApply {
					return
				}
				w.carryOut(planned)
				again := w.plan(answer)
				if got := writes(again); len(got) > 0 {
					t.Errorf("the next sync writes %v", got)
				}
				checkOwnerWarning(t, again, test.warning)
			})
		}
	}
}

func ownersIn(w *world, planned *pipeline.Plan) any {
	return w.content(stepFor(w.t, planned, "a").Body)["metadata"].(map[string]any)["ownerReferences"]
}

func checkOwnerWarning(t *testing.T, planned *pipeline.Plan, want string) {
	t.Helper()
	got := ""
	for _, warning := range planned.Warnings {
		got += warning.Message
	}
	if got != want {
		t.Errorf("the warning is %q, want %q", got, want)
	}
}

// Earlier versions have written what the hook lists.
func TestOwnersThatWereWrittenAreCorrected(t *testing.T) {
	const foreign = `{apiVersion: v1, kind: Maker, name: m, uid: maker, controller: true}`
	w := newWorld(t, web, configMaps).method(InPlace)
	plain := strings.Replace(foreign, ", controller: true", "", 1)
	listed := strings.Replace(childA, "{name: a", "{name: a, ownerReferences: ["+plain+"]", 1)
	w.has(configMaps, listed)
	const related = `{apiVersion: v1, kind: Secret, metadata: {name: r, uid: r, ownerReferences: [` + foreign + `]}}`
	w.related = []*object.Object{parseYAML(t, related)}
	if diff := cmp.Diff(value(t, `[`+ours+`]`), ownersIn(w, w.plan(w.answer(listed)))); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// The garbage collector does not find an owner of a version that is not served.
func TestChildrenFollowTheVersionOfTheParent(t *testing.T) {
	older := strings.Replace(ours, "ctl.example/v1", "ctl.example/v1alpha1", 1)
	for _, w := range []*world{newWorld(t, web, configMaps), newTarget(t, targetWith("", ""), configMaps)} {
		marks := "generation: 1"
		if w.decorates {
			marks = ofDeco
		}
		w.hasAsIs(configMaps, strings.Replace(ofParent(marks), ours, older, 1))
		w.carryOut(w.plan(w.answer()))
		metadata := decode(t, w.child(configMaps, "a"))["metadata"].(map[string]any)
		if diff := cmp.Diff(value(t, `[`+ours+`]`), metadata["ownerReferences"]); diff != "" {
			t.Errorf("owners (-want +got):\n%s", diff)
		}
	}
}
