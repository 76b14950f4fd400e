// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

const (
	revisionHeader  = "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: ControllerRevision, "
	revisionContent = `parentPatch: {"spec":{"a":1,"b":2}}, children: [{apiGroup: "", kind: Pod, names: [x]}]}`
	storedRevision  = revisionHeader + "metadata: {name: a, namespace: ns, generation: 4, resourceVersion: '9'}, " + revisionContent
)

func TestWritesOfControllerRevisions(t *testing.T) {
	tests := writes{
		"a create starts the generation at 1": {
			Sent: revisionHeader + "metadata: {name: a, namespace: ns, generation: 7}, " + revisionContent,
			Want: revisionHeader + "metadata: {name: a, namespace: ns, generation: 1}, " + revisionContent,
		},
		"a create without parentPatch is refused": {
			Sent:       revisionHeader + "metadata: {name: a, namespace: ns}}",
			WantErrors: []string{"parentPatch: Required value"},
		},
		"other children raise the generation": {
			Stored: storedRevision,
			Sent:   revisionHeader + `metadata: {name: a, namespace: ns, resourceVersion: '9'}, parentPatch: {"spec":{"a":1,"b":2}}}`,
			Want:   revisionHeader + `metadata: {name: a, namespace: ns, generation: 5, resourceVersion: '9'}, parentPatch: {"spec":{"a":1,"b":2}}}`,
		},
		"another parentPatch raises the generation": {
			Stored: storedRevision,
			Sent:   revisionHeader + `metadata: {name: a, namespace: ns, resourceVersion: '9'}, parentPatch: {"spec":{"a":2}}, children: [{apiGroup: "", kind: Pod, names: [x]}]}`,
			Want:   revisionHeader + `metadata: {name: a, namespace: ns, generation: 5, resourceVersion: '9'}, parentPatch: {"spec":{"a":2}}, children: [{apiGroup: "", kind: Pod, names: [x]}]}`,
		},
		"metadata alone does not": {
			Stored: storedRevision,
			Sent:   revisionHeader + "metadata: {name: a, namespace: ns, labels: {b: c}, resourceVersion: '9'}, " + revisionContent,
			Want:   revisionHeader + "metadata: {name: a, namespace: ns, labels: {b: c}, generation: 4, resourceVersion: '9'}, " + revisionContent,
		},
	}
	tests.check(t, newStrategy(controllerRevisions(), registrytest.NewScheme(t)))
}

func TestTheStatusSubresourceOfControllerRevisionsChangesNothing(t *testing.T) {
	write := registrytest.Write{
		Stored: storedRevision,
		Sent:   revisionHeader + `metadata: {name: a, namespace: ns, labels: {b: c}, resourceVersion: '9'}, parentPatch: {}, children: []}`,
		Want:   storedRevision,
	}
	write.Check(t, newStatusStrategy(newStrategy(controllerRevisions(), registrytest.NewScheme(t))))
}

func TestTheSameParentPatchWrittenInAnotherWayIsTheSame(t *testing.T) {
	strategy := newStrategy(controllerRevisions(), registrytest.NewScheme(t))
	before := registrytest.Decode[*controllerRevision](t, storedRevision)
	sent := before.DeepCopy()
	sent.ParentPatch.Raw = []byte(` { "spec" : { "b" : 2, "a" : 1 } } `)

	strategy.PrepareForUpdate(t.Context(), sent, before)

	if got, want := string(sent.ParentPatch.Raw), string(before.ParentPatch.Raw); got != want {
		t.Errorf("parentPatch is stored as %s, want %s", got, want)
	}
	if sent.Generation != before.Generation {
		t.Errorf("generation = %d, want %d as before", sent.Generation, before.Generation)
	}
}

func TestResetFieldsOfControllerRevisions(t *testing.T) {
	main := newStrategy(controllerRevisions(), registrytest.NewScheme(t))
	if fields := main.GetResetFields(); len(fields) != 0 {
		t.Errorf("reset fields of the main resource = %v, want none", fields)
	}
	checkResetFields(t, newStatusStrategy(main), ".children\n.metadata\n.parentPatch")
}

func TestTableOfControllerRevisions(t *testing.T) {
	tests := shown{
		"a revision without anything": {
			object: revisionHeader + "metadata: {name: a, namespace: ns}}",
			want:   "a <none> a 0 false <unknown>",
		},
		"a revision of a parent": {
			object: revisionHeader + `
metadata: {
  name: catsets.ctl.example.com-0123456789abcdef0123456789abcdef01234567, namespace: ns,
  annotations: {metacontroller.k8s.io/current: "true"},
  ownerReferences: [{apiVersion: v1, kind: Other, name: b}, {apiVersion: ctl.example.com/v1, kind: CatSet, name: nginx, controller: true}]},
parentPatch: {},
children: [{apiGroup: "", kind: Pod, names: [a, b, c]}, {apiGroup: apps, kind: Deployment, names: [d]}]}`,
			want: "catsets.ctl.example.com-0123456789abcdef0123456789abcdef01234567 CatSet/nginx 0123456789 4 true <unknown>",
		},
	}
	tests.check(t, controllerRevisions().table, "NAME PARENT REVISION CHILDREN CURRENT AGE")
}
