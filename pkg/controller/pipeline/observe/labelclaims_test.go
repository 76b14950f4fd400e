// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// parsed makes an object of a text in YAML.
func parsed(t testing.TB, text string) *object.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	o, err := object.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return o
}

func names(objects []*object.Object) []string {
	var names []string
	for _, o := range objects {
		names = append(names, o.Namespace+"/"+o.Name)
	}
	return names
}

// Another object of the parent's type may be another parent, whose labels are often the same.
func TestAnOrphanOfTheOwnTypeIsNotShownAndWakesNobody(t *testing.T) {
	parent := parsed(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent}, `+
		`spec: {selector: {matchLabels: {app: shop}}}}`)
	orphan := parsed(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: other, namespace: default, uid: u, labels: {app: shop}}}`)
	claims := NewLabelClaims(false)
	snapshot := &pipeline.Snapshot{ParentType: webs, Parent: parent}
	if err := claims.Prepare(snapshot); err != nil {
		t.Fatal(err)
	}
	group := claim(webs, snapshot, nil, []*object.Object{orphan})
	if len(group.Claimed) > 0 || len(group.Kept) != 1 || len(group.Adopt) != 1 {
		t.Errorf("claimed are %v, kept %v, to be adopted %v", names(group.Claimed), names(group.Kept), names(group.Adopt))
	}
	if claims.Adopts(parent, orphan) {
		t.Error("the orphan leads to a sync")
	}
}

func TestClaim(t *testing.T) {
	const (
		alive  = `{kind: Web, metadata: {name: shop, namespace: default, uid: parent}}`
		dying  = `{kind: Web, metadata: {name: shop, namespace: default, uid: parent, deletionTimestamp: "2026-03-04T05:06:07Z"}}`
		fleet  = `{kind: Fleet, metadata: {name: shop, uid: parent}}`
		match  = `labels: {app: shop}`
		differ = `labels: {app: other}`
		going  = `, deletionTimestamp: "2026-03-04T05:06:07Z"`
		owned  = `{kind: Web, metadata: {name: shop, namespace: default, uid: parent, ownerReferences: [{uid: owner}]}}`
		ref    = `, ownerReferences: [{apiVersion: %s, kind: Web, name: shop, uid: parent, controller: true}]`
	)
	older, current := fmt.Sprintf(ref, "ctl.example/v1alpha1"), fmt.Sprintf(ref, "ctl.example/v1")
	child := func(rest string) string { return `{metadata: {name: a, namespace: default, ` + rest + `}}` }
	tests := map[string]struct {
		parent                  string
		controlled, orphans     []string
		claimed, adopt, release []string
	}{
		"ours, and it matches":                          {parent: alive, controlled: []string{child(match)}, claimed: []string{"default/a"}},
		"ours, it matches and is being deleted":         {parent: alive, controlled: []string{child(match + going)}, claimed: []string{"default/a"}},
		"ours, and it no longer matches":                {parent: alive, controlled: []string{child(differ)}, release: []string{"default/a"}},
		"ours, without labels":                          {parent: alive, controlled: []string{child("uid: u")}, release: []string{"default/a"}},
		"ours, and it matches a parent that is going":   {parent: dying, controlled: []string{child(match)}, claimed: []string{"default/a"}},
		"ours, and a parent that is going lets it be":   {parent: dying, controlled: []string{child(differ)}},
		"an orphan that matches":                        {parent: alive, orphans: []string{child(match)}, claimed: []string{"default/a"}, adopt: []string{"default/a"}},
		"an orphan that matches and is being deleted":   {parent: alive, orphans: []string{child(match + going)}},
		"an orphan that does not match":                 {parent: alive, orphans: []string{child(differ)}},
		"an orphan that does not match, being deleted":  {parent: alive, orphans: []string{child(differ + going)}},
		"an orphan that matches a parent that is going": {parent: dying, orphans: []string{child(match)}},
		"an orphan that does not match such a parent":   {parent: dying, orphans: []string{child(differ)}},
		"ours, in another namespace, is not looked at":  {parent: alive, controlled: []string{`{metadata: {name: a, namespace: other, ` + match + `}}`}},
		"ours, in another namespace, is not let go":     {parent: alive, controlled: []string{`{metadata: {name: a, namespace: other, ` + differ + `}}`}},
		"a cluster-scoped parent has them anywhere":     {parent: fleet, controlled: []string{child(match)}, orphans: []string{`{metadata: {name: a, namespace: other, ` + match + `}}`}, claimed: []string{"default/a", "other/a"}, adopt: []string{"other/a"}},
		"a cluster-scoped parent has them outside":      {parent: fleet, controlled: []string{`{metadata: {name: a, ` + match + `}}`}, claimed: []string{"/a"}},
		"nothing":                              {parent: alive},
		"the parent itself":                    {parent: alive, orphans: []string{child(match + ", uid: parent")}},
		"the parent itself, which owns itself": {parent: alive, controlled: []string{child(match + ", uid: parent")}},
		"an owner of the parent":               {parent: owned, orphans: []string{child(match + ", uid: owner")}},
		"ours, by another version of the parent": {
			parent:     alive,
			controlled: []string{child(match + older)},
			claimed:    []string{"default/a"}, adopt: []string{"default/a"},
		},
		"ours, by this version of the parent": {
			parent:     alive,
			controlled: []string{child(match + current)},
			claimed:    []string{"default/a"},
		},
		"going, by another version of the parent": {
			parent:     alive,
			controlled: []string{child(match + older + going)},
			claimed:    []string{"default/a"},
		},
		"by another version of a parent that goes": {
			parent:     dying,
			controlled: []string{child(match + older)},
			claimed:    []string{"default/a"},
		},
		"let go, and by another version of a parent": {
			parent:     alive,
			controlled: []string{child(differ + older)}, release: []string{"default/a"},
		},
		"they are sorted by namespace and name": {
			parent: fleet,
			controlled: []string{
				`{metadata: {name: b, namespace: two, ` + match + `}}`, `{metadata: {name: c, namespace: one, ` + match + `}}`,
				`{metadata: {name: z, namespace: two, ` + differ + `}}`, `{metadata: {name: z, namespace: one, ` + differ + `}}`,
			},
			orphans: []string{`{metadata: {name: a, namespace: two, ` + match + `}}`, `{metadata: {name: d, namespace: one, ` + match + `}}`},
			claimed: []string{"one/c", "one/d", "two/a", "two/b"},
			adopt:   []string{"one/d", "two/a"},
			release: []string{"one/z", "two/z"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var controlled, orphans []*object.Object
			for _, text := range test.controlled {
				controlled = append(controlled, parsed(t, text))
			}
			for _, text := range test.orphans {
				orphans = append(orphans, parsed(t, text))
			}
			selector := labels.SelectorFromSet(labels.Set{"app": "shop"})
			snapshot := &pipeline.Snapshot{ParentType: webs, Parent: parsed(t, test.parent), Selector: selector}
			group := claim(configMaps, snapshot, controlled, orphans)
			if group.Type != configMaps {
				t.Errorf("type is %s", group.Type)
			}
			if diff := cmp.Diff(test.claimed, names(group.Claimed)); diff != "" {
				t.Errorf("claimed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.adopt, names(group.Adopt)); diff != "" {
				t.Errorf("to adopt (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.release, names(group.Release)); diff != "" {
				t.Errorf("to let go (-want +got):\n%s", diff)
			}
		})
	}
}
