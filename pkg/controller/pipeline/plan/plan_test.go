// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestThatAllChildrenAreDeletedIsSaid(t *testing.T) {
	const (
		a       = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`
		b       = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}}`
		wantsA  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`
		wantsC  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {app: shop}}}`
		all     = "The server deletes all children of this object (ConfigMap default/a, ConfigMap default/b), because the answer "
		listed  = all + "of the sync hook lists none of them."
		missing = all + `of the sync hook has no field "children". If that is not intended, look for a return statement ` +
			`that is missing in the hook. Hooks of version v2, or with responseUnMarshallMode: strict, reject such an answer ` +
			`and delete nothing.`
	)
	said := func(chosen bool, message string) []pipeline.Warning {
		return []pipeline.Warning{{Reason: v1alpha1.ReasonChildrenDeleted, About: "children", Chosen: chosen, Message: message}}
	}
	tests := map[string]struct {
		has    []string
		answer []string
		change func(*pipeline.Snapshot, *pipeline.Response)
		want   []pipeline.Warning
	}{
		"the answer lists none":   {has: []string{a, b}, want: said(true, listed)},
		"the answer lists others": {has: []string{a, b}, answer: []string{wantsC}, want: said(true, listed)},
		"one of them stays":       {has: []string{a, b}, answer: []string{wantsA}},
		"an adopted object that the answer has never listed stays": {
			has: []string{a, b}, want: said(true, listed),
			change: func(s *pipeline.Snapshot, _ *pipeline.Response) {
				adopted := parseYAML(t, strings.Replace(ofParent("generation: 1"), "name: a", "name: d", 1))
				for i := range s.Children {
					if s.Children[i].Type == configMaps {
						s.Children[i].Claimed = append(s.Children[i].Claimed, adopted)
					}
				}
			},
		},
		"there are none": {},
		"the answer has no such field": {
			has: []string{a, b}, want: said(false, missing),
			change: func(_ *pipeline.Snapshot, r *pipeline.Response) { r.SaysChildren = false },
		},
		"a warning about the answer says it": {
			has: []string{a, b},
			change: func(_ *pipeline.Snapshot, r *pipeline.Response) {
				r.Warnings = []pipeline.Warning{{Reason: v1alpha1.ReasonChildrenDeleted}}
			},
		},
		"the parent is finalized": {
			has: []string{a, b}, change: func(s *pipeline.Snapshot, _ *pipeline.Response) { s.Finalizing = true },
		},
		"they are left alone": {
			has: []string{a, b}, change: func(s *pipeline.Snapshot, _ *pipeline.Response) { s.Managed = false },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps, deployments)
			snapshot, response := w.has(configMaps, test.has...).snapshot(), w.answer(test.answer...)
			if test.change != nil {
				test.change(snapshot, response)
			}
			planned, err := Composite(snapshot, response, w.strategies, &w.upToDate)
			if err != nil {
				t.Fatal(err)
			}
			said := planned.Notices
			for _, warning := range planned.Warnings {
				if warning.Reason == v1alpha1.ReasonChildrenDeleted {
					said = append(said, warning)
				}
			}
			if diff := cmp.Diff(test.want, said); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// A Namespace has a status of its own, and refuses much while it is being deleted.
func TestNothingIsWrittenToANamespaceThatIsBeingDeleted(t *testing.T) {
	const (
		namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: team, uid: parent-uid%s}, status: {phase: %s}}`
		inside    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team, labels: {app: shop}}}`
		outside   = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other, labels: {app: shop}}}`
		deleting  = `, deletionTimestamp: "2026-03-04T05:06:07Z"`
	)
	tests := map[string]struct {
		metadata, phase string
		decorates       bool
		finalized       bool
		want            []string
	}{
		"an active one, of a composite": {
			phase: "Active",
			want:  []string{"create ConfigMap team/a", "create ConfigMap other/a", "status Namespace team"},
		},
		"an active one, of a decorator": {
			phase: "Active", decorates: true,
			want: []string{
				"status Namespace team", "metadata Namespace team", "create ConfigMap team/a", "create ConfigMap other/a",
			},
		},
		"one that is being deleted, of a composite": {
			metadata: deleting, phase: "Terminating",
			want: []string{"create ConfigMap other/a"},
		},
		"one that is being deleted, of a decorator": {
			metadata: deleting + ourHold, phase: "Terminating", decorates: true,
			want: []string{"create ConfigMap other/a"},
		},
		"one that is being deleted and is finalized": {
			metadata: deleting + ourHold, phase: "Terminating", decorates: true, finalized: true,
			want: []string{"metadata Namespace team", "create ConfigMap other/a"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(strings.Replace(namespace, "%s", test.metadata, 1), "%s", test.phase, 1)
			w := newWorld(t, text, configMaps)
			w.decorates, w.parentType = test.decorates, namespaces
			w.parentType.StatusSubresource = true
			snapshot := w.snapshot()
			snapshot.ForeignStatus, snapshot.Managed = true, true
			response := w.answer(inside, outside)
			response.Status, response.Finalized = []byte(`{"conditions":[]}`), test.finalized
			of := Composite
			if test.decorates {
				response.Labels = changes("a", "1")
				of = Decorator
			}
			planned, err := of(snapshot, response, nil, &w.upToDate)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, steps(planned)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// The status of a Namespace is written only if it changes.
func TestTheStatusOfANamespaceKeepsItsPhase(t *testing.T) {
	for answer, want := range map[string]string{
		`{}`: "", `{"phase":"Active"}`: "", `{"ready":true}`: `{"phase":"Active","ready":true}`,
	} {
		w := newTarget(t, `{apiVersion: v1, kind: Namespace, metadata: {name: team, uid: u}, status: {phase: Active}}`)
		w.parentType = namespaces
		w.parentType.StatusSubresource = true
		snapshot := w.snapshot()
		snapshot.ForeignStatus = true
		planned, err := Decorator(snapshot, &pipeline.Response{Status: []byte(answer)}, nil, &w.upToDate)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, step := range planned.Steps {
			got += string(parseJSON(t, step.Body).Lookup("status"))
		}
		if got != want {
			t.Errorf("for %s, the status written is %q, want %q", answer, got, want)
		}
	}
}
