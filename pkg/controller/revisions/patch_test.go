// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestPatchOf(t *testing.T) {
	tests := map[string]struct {
		parent string
		paths  []string
		want   string
		err    string
	}{
		"a field with all that is in it": {
			parent: `spec: {b: {c: [1, {d: e}]}, a: null}, status: {x: 1}`,
			paths:  []string{"spec"}, want: `{"spec":{"a":null,"b":{"c":[1,{"d":"e"}]}}}`,
		},
		"fields below": {
			parent: `spec: {a: 1, b: {c: 2, d: 3}}, data: {e: 4}`,
			paths:  []string{"spec.b.d", "data", "spec.a"}, want: `{"data":{"e":4},"spec":{"a":1,"b":{"d":3}}}`,
		},
		"a path within another":            {parent: `spec: {a: 1, b: 2}`, paths: []string{"spec", "spec.a"}, want: `{"spec":{"a":1,"b":2}}`},
		"a path that leads nowhere":        {parent: `spec: {a: 1}`, paths: []string{"spec.b", "data.c"}, want: `{}`},
		"a path through a null":            {parent: `spec: null`, paths: []string{"spec.a"}, want: `{}`},
		"a null":                           {parent: `spec: {a: null}`, paths: []string{"spec.a"}, want: `{"spec":{"a":null}}`},
		"a path that is empty":             {parent: `spec: {a: 1}`, paths: []string{""}, want: `{}`},
		"characters that HTML knows":       {parent: `spec: "<a> & b\u2028"`, paths: []string{"spec"}, want: `{"spec":"\u003ca\u003e \u0026 b\u2028"}`},
		"whole numbers stay what they are": {parent: `spec: [9007199254740993, -9223372036854775808, 10000000000000000000000]`, paths: []string{"spec"}, want: `{"spec":[9007199254740993,-9223372036854775808,1e+22]}`},
		"other numbers take Go's shortest form": {
			parent: `spec: [1.5, 0.1, 1.0e-7]`, paths: []string{"spec"}, want: `{"spec":[1.5,0.1,1e-7]}`,
		},
		"a path through text": {
			parent: `spec: {a: text}`, paths: []string{"spec.a.b.c"},
			err: `revision of Web default/shop: spec.parentResource.revisionHistory.fieldPaths names "spec.a.b.c": its field spec.a is not an object`,
		},
		"a path through a list": {
			parent: `spec: [1]`, paths: []string{"spec.0"},
			err: `revision of Web default/shop: spec.parentResource.revisionHistory.fieldPaths names "spec.0": its field spec is not an object`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Patch(parse(t, `{kind: Web, metadata: {name: shop, namespace: default}, `+test.parent+`}`), test.paths)
			if string(got) != test.want {
				t.Errorf("patch is %s, want %s", got, test.want)
			}
			wantError(t, err, test.err)
		})
	}
}

func TestRestore(t *testing.T) {
	const now = `spec: {a: {b: 2, c: 2, big: 9007199254740993}, d: 2}, status: {e: 2}`
	tests := map[string]struct {
		patch string
		paths []string
		want  string
		err   string
	}{
		"a field is as it was, all others as they are": {
			patch: `{"spec":{"a":{"b":1}}}`, paths: []string{"spec.a.b"},
			want: `spec: {a: {b: 1, c: 2, big: 9007199254740993}, d: 2}, status: {e: 2}`,
		},
		"a whole object is as it was": {
			patch: `{"spec":{"a":{"b":1}}}`, paths: []string{"spec.a"},
			want: `spec: {a: {b: 1}, d: 2}, status: {e: 2}`,
		},
		"a field that is no longer there comes back": {
			patch: `{"spec":{"x":{"z":1}}}`, paths: []string{"spec.x.z"},
			want: `spec: {a: {b: 2, c: 2, big: 9007199254740993}, d: 2, x: {z: 1}}, status: {e: 2}`,
		},
		"a null comes back": {
			patch: `{"spec":{"d":null}}`, paths: []string{"spec.d"},
			want: `spec: {a: {b: 2, c: 2, big: 9007199254740993}, d: null}, status: {e: 2}`,
		},
		"what was beside the paths is not looked at": {
			patch: `{"spec":{"a":{"b":1},"d":1}}`, paths: []string{"spec.d"},
			want: `spec: {a: {b: 2, c: 2, big: 9007199254740993}, d: 1}, status: {e: 2}`,
		},
		"a path through what is no object any more": {
			patch: `{"spec":{"d":{"x":1}}}`, paths: []string{"spec.d.x"},
			err: "Web default/shop as of ControllerRevision then: spec.d.x: its field d is not an object",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkRestored(t, now, restorable(test.patch, test.paths...), []string{"spec"}, test.want, test.err)
		})
	}
}

func TestQ47AFieldThatARevisionDidNotHaveIsNotTakenFromThePresentParent(t *testing.T) {
	checkRestored(t, `spec: {a: 2, d: 2}`, restorable(`{"spec":{"a":1}}`, "spec.a", "spec.d", "spec.e.f"), []string{"spec"}, `spec: {a: 1}`, "")
}

func TestQ47ARevisionIsReadByThePathsThatItWasTakenWith(t *testing.T) {
	checkRestored(t, `spec: {a: 2, d: 2}`, restorable(`{"spec":{"a":1}}`, "spec.a"), []string{"spec"}, `spec: {a: 1, d: 2}`, "")
}

func TestQ47ARevisionThatDoesNotTellItsPathsKeepsThePresentValues(t *testing.T) {
	revision := restorable(`{"spec":{"a":1}}`)
	revision.Annotations = nil
	checkRestored(t, `spec: {a: 2, d: 2}`, revision, []string{"spec.a", "spec.d"}, `spec: {a: 1, d: 2}`, "")
}

func restorable(patch string, paths ...string) *v1alpha1.ControllerRevision {
	revision := &v1alpha1.ControllerRevision{ParentPatch: runtime.RawExtension{Raw: []byte(patch)}}
	revision.Name, revision.Annotations = "then", map[string]string{fieldPathsAnnotation: formatPaths(paths)}
	return revision
}

func checkRestored(t *testing.T, now string, revision *v1alpha1.ControllerRevision, paths []string, want, wantErr string) {
	t.Helper()
	const head = `kind: Web, metadata: {name: shop, namespace: default, uid: u, generation: 7}, `
	got, err := Restore(parse(t, "{"+head+now+"}"), revision, paths)
	wantError(t, err, wantErr)
	if err != nil {
		return
	}
	content, err := got.Decode()
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := parse(t, "{"+head+want+"}").Decode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, content); diff != "" {
		t.Errorf("parent differs (-want +got):\n%s", diff)
	}
	if got.UID != "u" || got.Generation != 7 {
		t.Errorf("metadata is %v", got.ObjectMeta)
	}
}

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
