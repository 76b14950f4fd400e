// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
