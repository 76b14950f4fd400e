// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// syncOf returns a sync of Website default/shop with more fields, which are YAML.
func syncOf(t *testing.T, fields string) *v1alpha1.ReviewedSync {
	t.Helper()
	sync := &v1alpha1.ReviewedSync{Parent: v1alpha1.ReviewedObject{APIVersion: "example.com/v1", Kind: "Website", Namespace: "default", Name: "shop"}}
	if err := yaml.UnmarshalStrict([]byte(fields), sync); err != nil {
		t.Fatal(err)
	}
	return sync
}

func printed(t *testing.T, style Style, sync *v1alpha1.ReviewedSync) string {
	t.Helper()
	var text strings.Builder
	if err := style.Sync(&text, "CompositeController websites", sync); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestSyncs(t *testing.T) {
	for name, test := range map[string]struct{ sync, want string }{
		"nothing to do": {`{result: Unchanged}`, "Website default/shop by CompositeController websites: stays as it is\n"},
		"a new object is shown as a whole": {`
result: Changed
steps:
- {operation: Create, apiVersion: v1, kind: ConfigMap, namespace: default, name: shop, why: the hook lists it and it does not exist,
   changes: [{path: "", to: {apiVersion: v1, kind: ConfigMap, data: {a: b}}}]}
`, `Website default/shop by CompositeController websites: 1 write
  create ConfigMap shop: the hook lists it and it does not exist
+   apiVersion: v1
+   data:
+     a: b
+   kind: ConfigMap
`},
		"fields before and after": {`
result: Changed
steps:
- {operation: Update, apiVersion: apps/v1, kind: Deployment, namespace: other, name: shop, why: it differs at spec.replicas,
   changes: [{path: spec.replicas, from: 1, to: 2}, {path: spec.paused, from: true}, {path: metadata.labels, to: {a: b}}, {path: spec.list, from: [1], to: []}]}
- {operation: Delete, apiVersion: v1, kind: Namespace, name: old, why: the hook does not list it}
`, `Website default/shop by CompositeController websites: 2 writes
  update Deployment other/shop: it differs at spec.replicas
-   spec.replicas: 1
+   spec.replicas: 2
-   spec.paused: true
+   metadata.labels:
+     a: b
-   spec.list:
-     - 1
+   spec.list: []
  delete Namespace old: the hook does not list it
`},
		"long texts are compared line by line": {`
result: Changed
steps:
- operation: Update
  apiVersion: v1
  kind: ConfigMap
  namespace: default
  name: shop
  why: it differs at data.page
  changes:
  - {path: data.page, from: "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", to: "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n"}
`, `Website default/shop by CompositeController websites: 1 write
  update ConfigMap shop: it differs at data.page
    ...
      2
      3
      4
-     5
+     five
      6
      7
      8
    ...
`},
		"what the cluster says to a dry run": {`
result: Failed
steps:
- {operation: Create, apiVersion: v1, kind: Pod, namespace: default, name: a, why: w, dryRun: {outcome: Refused, message: exceeded quota}}
- {operation: Create, apiVersion: v1, kind: Pod, namespace: default, name: b, why: w, dryRun: {outcome: Accepted, warnings: [old field]}}
- {operation: Apply, apiVersion: v1, kind: Pod, namespace: default, name: c, why: w, dryRun: {outcome: ChangesNothing}}
- {operation: Recreate, apiVersion: v1, kind: Pod, namespace: default, name: d, why: w, dryRun: {outcome: NotSent,
	message: an earlier step failed}}
- {operation: Update, apiVersion: v1, kind: Pod, namespace: default, name: e, why: w, dryRun: {outcome: Conflict,
	message: it has changed since it was observed}}
- {operation: Update, apiVersion: v1, kind: Pod, namespace: default, name: f, why: w, postponed: true}
`, `Website default/shop by CompositeController websites: fails
  create Pod a: w (refused: exceeded quota)
  create Pod b: w
    warning of the cluster: old field
  apply Pod c: w (the cluster would change nothing)
  recreate Pod d: w (not tried: an earlier step failed)
  update Pod e: w (conflict: it has changed since it was observed)
  update Pod f: w (postponed: such writes were repeated too often)
`},
		"a failure, a rollout, warnings and events": {`
result: Failed
error: "sync hook: answered 500\nTraceback"
refused: ['Pod "a": it is listed twice']
rollout: {reason: RolloutProgressing, message: 1 of 2 moved, moves: [{apiVersion: v1, kind: Pod, namespace: default, name: b}],
  behind: [{apiVersion: v1, kind: Pod, namespace: default, name: c}, {apiVersion: v1, kind: Pod, namespace: default, name: d}]}
warnings: [{reason: UnknownField, message: spec.x is not known}]
events: [{type: Normal, reason: Hello, message: hi}, {type: Warning, reason: Bad, message: oh no, child: {apiVersion: v1, kind: Pod, namespace: default, name: b}}]
resyncAfter: 30s
truncated: true
`, `Website default/shop by CompositeController websites: fails
  sync hook: answered 500
  Traceback
  refused: Pod "a": it is listed twice
  rollout RolloutProgressing: 1 of 2 moved
    moves now: Pod b
    stays behind: Pod c, Pod d
  warning UnknownField: spec.x is not known
  event Normal Hello: hi
  event Warning Bad about Pod b: oh no
  It would be synced again after 30s.
  The output is incomplete, because the answer would be too large.
`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, printed(t, Style{}, syncOf(t, test.sync))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestColorsAreOnlyBesideTheText(t *testing.T) {
	sync := syncOf(t, `
result: Changed
steps: [{operation: Update, apiVersion: v1, kind: Pod, namespace: default, name: a, why: w, changes: [{path: a, from: 1, to: 2}]}]
`)
	colored := printed(t, Style{Colored: true}, sync)
	if !strings.Contains(colored, "\x1b[31m-   a: 1\x1b[0m\n\x1b[32m+   a: 2\x1b[0m\n") {
		t.Errorf("the diff has no colors: %q", colored)
	}
	without := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "").Replace(colored)
	if plain := printed(t, Style{}, sync); without != plain {
		t.Errorf("the text is %q, and with colors %q", plain, without)
	}
}

func TestSummaries(t *testing.T) {
	for name, test := range map[string]struct{ summary, want string }{
		"no parents": {`{}`, "No parents found."},
		"one":        {`{parents: 1, unchanged: 1}`, "1 parent: 1 unchanged"},
		"many": {`{parents: 9, changed: 3, failed: 2, undecided: 1, unchanged: 3, steps: [{operation: Create, apiVersion: v1, kind: Pod, count: 4},
			{operation: UpdateStatus, apiVersion: example.com/v1, kind: Website, count: 1}]}`,
			"9 parents: 3 would change, 2 would fail, 1 not known, 3 unchanged\nWrites: create 4 Pod, update status of 1 Website"},
	} {
		t.Run(name, func(t *testing.T) {
			var summary v1alpha1.SyncReviewSummary
			if err := yaml.UnmarshalStrict([]byte(test.summary), &summary); err != nil {
				t.Fatal(err)
			}
			if got := (Style{}).Summary(&summary); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
