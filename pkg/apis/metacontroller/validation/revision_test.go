// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestValidateControllerRevision(t *testing.T) {
	const parentPatchRequired = `parentPatch: Required value: must be the part of the parent that this revision records, such as {"spec":{…}}`
	tests := map[string]struct {
		patch string
		want  []string
	}{
		"a full revision":             {patch: "{}"},
		"no children":                 {patch: "children: null"},
		"a kind without names so far": {patch: "children: [{apiGroup: apps, kind: Deployment, names: []}]"},
		"an empty parentPatch":        {patch: "parentPatch: {spec: null}"},
		"no parentPatch":              {patch: "parentPatch: null", want: []string{parentPatchRequired}},
		"a parentPatch that is a text": {
			patch: "parentPatch: text",
			want:  []string{`parentPatch: Invalid value: "\"text\"": must be a JSON object, such as {"spec":{…}}`},
		},
		"a parentPatch that is a list": {
			patch: "parentPatch: [1]",
			want:  []string{`parentPatch: Invalid value: "[1]": must be a JSON object, such as {"spec":{…}}`},
		},
		"children without kind and names": {
			patch: "children: [{apiGroup: apps}]",
			want: []string{
				`children[0].kind: Required value: must be the kind of the children, such as "Pod"`,
				"children[0].names: Required value: must list the names of the children; the list may be empty",
			},
		},
		"no namespace": {
			patch: "metadata: {namespace: null}",
			want:  []string{"metadata.namespace: Required value"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			revision := decode[*v1alpha1.ControllerRevision](t, patched(t, controllerRevision, test.patch))
			wantErrors(t, ValidateControllerRevision(revision), test.want...)
		})
	}
}

func TestParentPatchAndChildrenMayChange(t *testing.T) {
	stored := decode[*v1alpha1.ControllerRevision](t, controllerRevision)
	updated := decode[*v1alpha1.ControllerRevision](t, patched(t, controllerRevision, "{parentPatch: {spec: {image: b}}, children: []}"))
	wantErrors(t, ValidateControllerRevisionUpdate(updated, stored))
}
