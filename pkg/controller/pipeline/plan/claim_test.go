// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
			op:    pipeline.Adopt, why: "its reference to the parent is of another version than ctl.example/v1",
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
