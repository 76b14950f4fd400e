// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestThatAllChildrenAreDeletedIsSaid(t *testing.T) {
	const (
		a       = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`
		b       = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}}`
		wantsA  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`
		wantsC  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {app: shop}}}`
		all     = "All children of this object are deleted (ConfigMap default/a, ConfigMap default/b), because the answer "
		listed  = all + "of the sync hook lists none of them."
		missing = all + `of the sync hook has no field "children". If that is not meant, look for a return ` +
			"statement that is missing in the hook. " +
			"Hooks of version v2, or with responseUnMarshallMode: strict, refuse such an answer and delete nothing."
	)
	said := func(chosen bool, message string) []pipeline.Warning {
		return []pipeline.Warning{{Reason: pipeline.ChildrenDeleted, About: "children", Chosen: chosen, Message: message}}
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
		"there are none":          {},
		"the answer has no such field": {
			has: []string{a, b}, want: said(false, missing),
			change: func(_ *pipeline.Snapshot, r *pipeline.Response) { r.SaysChildren = false },
		},
		"a warning about the answer says it": {
			has: []string{a, b},
			change: func(_ *pipeline.Snapshot, r *pipeline.Response) {
				r.Warnings = []pipeline.Warning{{Reason: pipeline.ChildrenDeleted}}
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
				if warning.Reason == pipeline.ChildrenDeleted {
					said = append(said, warning)
				}
			}
			if diff := cmp.Diff(test.want, said); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
