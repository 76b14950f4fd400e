// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	migration "github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
)

func typesUID(text string) types.UID { return types.UID(text) }

const stored = `
kind: CompositeController
metadata: {name: a, uid: u, generation: 1, resourceVersion: "7", labels: {app: shop}}
spec: {hooks: {sync: {webhook: {url: "http://a"}}}}
`

// Each way in which an object may differ has its reason. Only what was done here on purpose is no difference.
func TestDifferencesHaveReasons(t *testing.T) {
	there := objectOf(t, stored)
	edited := strings.Replace(stored, "app: shop", "app: edited", 1)
	drained := strings.Replace(stored, "name: a,", "name: a, finalizers: [metacontroller.k8s.io/drain],", 1)
	for name, test := range map[string]struct {
		here     string // empty if it is not here
		there    *unstructured.Unstructured
		imported string // the resource version from which it was copied
		changed  bool   // it was changed here since
		same     bool
		purpose  string // how it was changed on purpose
		differs  string // how it differs else
	}{
		"it is the same":                        {here: stored, there: there, imported: "7", same: true},
		"it has this server's finalizer":        {here: drained, there: there, imported: "7", changed: true, same: true},
		"it is on neither side":                 {same: false},
		"it was changed here":                   {here: edited, there: there, imported: "7", changed: true, purpose: "differs in metadata.labels.app (it was changed here after it was copied)"},
		"it differs and nobody knows why":       {here: edited, there: there, imported: "7", differs: "differs in metadata.labels.app"},
		"it was changed there":                  {here: edited, there: there, imported: "6", differs: "it was changed in the definitions after it was copied"},
		"it was changed on both sides":          {here: edited, there: there, imported: "6", changed: true, differs: "it was changed here and there after it was copied"},
		"it was never copied":                   {here: edited, there: there, differs: "it was never copied"},
		"it was deleted here":                   {there: there, imported: "7", purpose: "it was deleted here after it was copied"},
		"it was deleted here and changed there": {there: there, imported: "6", differs: "it was deleted here after it was copied"},
		"it was created here":                   {here: stored, purpose: "is only here (it was created here)"},
		"it was deleted there":                  {here: stored, imported: "7", differs: "it was deleted in the definitions after it was copied"},
	} {
		t.Run(name, func(t *testing.T) {
			item := &migration.Import{}
			item.Status.SourceResourceVersion, item.Status.Changed = test.imported, test.changed
			if test.here != "" {
				raw, err := json.Marshal(objectOf(t, test.here).Object)
				if err != nil {
					t.Fatal(err)
				}
				item.Status.Object = &runtime.RawExtension{Raw: raw}
			}
			of := object{kind: kinds()[0]}
			if test.there != nil {
				of.Unstructured = test.there.DeepCopy()
			}
			c := &comparison{}
			if err := c.add(item, objectOf(t, stored), of); err != nil {
				t.Fatal(err)
			}
			if got := c.same == 1; got != test.same {
				t.Errorf("it is the same: %v", got)
			}
			expectDifference(t, "changed on purpose", c.changed, test.purpose)
			expectDifference(t, "different", c.differences, test.differs)
		})
	}
}

func expectDifference(t *testing.T, what string, got []Difference, want string) {
	t.Helper()
	if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].String(), want)) {
		t.Errorf("%s: %v, want %q", what, got, want)
	}
}
