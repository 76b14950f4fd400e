// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyTheContentWithinTheFieldPathsOfTheControllerIsRestored(t *testing.T) {
	const (
		now    = `apiVersion: v1, spec: {a: 2, b: 2}, data: 2`
		forged = `{"apiVersion":"evil/v1","kind":"Evil","metadata":{"name":"evil","namespace":"kube-system","uid":"evil","generation":1,` +
			`"labels":{"a":"1"},"finalizers":["evil"]},"spec":{"a":1,"b":1},"data":1}`
	)
	tests := map[string]struct {
		allowed, recorded []string
		want              string
		outside           []string
	}{
		"another field is not": {
			allowed: []string{"spec"}, recorded: []string{"spec", "data"},
			want: `apiVersion: v1, spec: {a: 1, b: 1}, data: 2`, outside: []string{"data"},
		},
		"a field within one is": {
			allowed: []string{"spec"}, recorded: []string{"spec.a"},
			want: `apiVersion: v1, spec: {a: 1, b: 2}, data: 2`,
		},
		"of a field around one, only that one is": {
			allowed: []string{"spec.a"}, recorded: []string{"spec"},
			want: `apiVersion: v1, spec: {a: 1, b: 2}, data: 2`, outside: []string{"spec"},
		},
		"a field whose name only begins alike is not": {
			allowed: []string{"sp"}, recorded: []string{"spec"},
			want: now, outside: []string{"spec"},
		},
		"the identity is not, whatever the revision says": {
			allowed: []string{"spec"}, recorded: []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata", "spec.a"},
			want: `apiVersion: v1, spec: {a: 1, b: 2}, data: 2`, outside: []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata"},
		},
		"the identity is not, even if the controller names it": {
			allowed: []string{"apiVersion", "kind", "metadata.namespace", "metadata.uid", "spec.a"}, recorded: []string{"apiVersion", "kind", "metadata.namespace", "metadata.uid", "spec.a"},
			want: `apiVersion: v1, spec: {a: 1, b: 2}, data: 2`,
		},
		"the whole object is not": {
			allowed: []string{"spec"}, recorded: []string{""},
			want: now, outside: []string{""},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			revision := restorable(forged, test.recorded...)
			checkRestored(t, now, revision, test.allowed, test.want, "")
			if outside := Outside(revision, test.allowed); !slices.Equal(outside, test.outside) {
				t.Errorf("outside is %q, want %q", outside, test.outside)
			}
		})
	}
}

func TestARevisionThatDoesNotTellItsPathsRestoresNoIdentity(t *testing.T) {
	revision := restorable(`{"metadata":{"namespace":"kube-system"},"spec":{"a":1}}`)
	revision.Annotations = nil
	checkRestored(t, `spec: {a: 2}`, revision, []string{"metadata.namespace", "spec"}, `spec: {a: 1}`, "")
	if outside := Outside(revision, []string{"spec"}); outside != nil {
		t.Errorf("outside is %q", outside)
	}
}

func TestOfAllMetadataOnlyLabelsAndAnnotationsAreRestored(t *testing.T) {
	revision := restorable(`{"metadata":{"name":"evil","namespace":"kube-system","uid":"evil","finalizers":["evil"],"labels":{"a":"1"}}}`, "metadata")
	parent := parse(t, `{kind: Web, metadata: {name: shop, namespace: default, uid: u, labels: {a: "2"}, annotations: {b: "2"}}}`)
	restored, err := Restore(parent, revision, []string{"metadata"})
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `{kind: Web, metadata: {name: shop, namespace: default, uid: u, labels: {a: "1"}}}`)
	if diff := cmp.Diff(want.ObjectMeta, restored.ObjectMeta); diff != "" {
		t.Errorf("metadata differs (-want +got):\n%s", diff)
	}
}
