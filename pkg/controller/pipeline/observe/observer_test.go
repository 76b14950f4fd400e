// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// name is the key of a parent: of a Web, or of a Fleet if it is in no namespace.
func name(namespace, name string) object.Key {
	of := webs
	if namespace == "" {
		of = fleets
	}
	return object.Key{GroupKind: of.GroupKind(), NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

const (
	shop     = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: u-shop, labels: {run: here}}, spec: {selector: {matchLabels: {app: shop}}}}`
	blog     = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: blog, namespace: default, uid: u-blog}, spec: {selector: {matchLabels: {app: blog}}}}`
	faraway  = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: far, uid: u-far}, spec: {selector: {matchLabels: {app: shop}}}}`
	broken   = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: broken, namespace: default, uid: u-broken}, spec: {}}`
	ofShop   = `ownerReferences: [{apiVersion: ctl.example/v1, kind: Web, name: shop, uid: u-shop, controller: true}]`
	ofBlog   = `ownerReferences: [{apiVersion: ctl.example/v1, kind: Web, name: blog, uid: u-blog, controller: true}]`
	asOwner  = `ownerReferences: [{apiVersion: ctl.example/v1, kind: Web, name: blog, uid: u-blog}]`
	ofOthers = `ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: shop, uid: u-shop, controller: true}]`
)

func TestSnapshot(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false), shop, blog, faraway,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: default, labels: {app: shop}, `+ofShop+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: let-go, namespace: default, labels: {app: x}, `+ofShop+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, namespace: default, labels: {app: shop}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, namespace: default, labels: {app: shop}, `+asOwner+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, namespace: far, labels: {app: shop}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: default, labels: {app: shop}, `+ofBlog+`}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: mine, namespace: default, labels: {app: shop}, `+ofShop+`}}`,
	)
	snapshot := observer.Parent(name("default", "shop"))
	if err := observer.Claim(snapshot); err != nil {
		t.Fatal(err)
	}
	if snapshot.Parent.UID != "u-shop" || snapshot.ParentType != webs || snapshot.Selector.String() != "app=shop" ||
		snapshot.GeneratedLabels != nil || snapshot.Finalizing {
		t.Errorf("the snapshot is %+v", snapshot)
	}
	if len(snapshot.Children) != 2 || snapshot.Children[0].Type != configMaps || snapshot.Children[1].Type != pods {
		t.Fatalf("the groups are %v", snapshot.Children)
	}
	maps := snapshot.Children[0]
	if diff := cmp.Diff([]string{"default/mine", "default/orphan", "default/owned"}, names(maps.Claimed)); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"default/orphan", "default/owned"}, names(maps.Adopt)); diff != "" {
		t.Errorf("to adopt (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"default/let-go"}, names(maps.Release)); diff != "" {
		t.Errorf("to let go (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"default/mine"}, names(snapshot.Children[1].Claimed)); diff != "" {
		t.Errorf("claimed Pods (-want +got):\n%s", diff)
	}
}

func TestSnapshotOfAClusterScopedParent(t *testing.T) {
	const of = `ownerReferences: [{apiVersion: ctl.example/v1, kind: Fleet, name: shop, uid: u-fleet, controller: true}]`
	observer, _ := observing(t, fleets, NewLabelClaims(true),
		`{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: shop, uid: u-fleet}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: one, labels: {controller-uid: u-fleet}, `+of+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: two, labels: {controller-uid: u-fleet}}}`,
	)
	snapshot := observer.Parent(name("", "shop"))
	if err := observer.Claim(snapshot); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one/a", "two/a"}, names(snapshot.Children[0].Claimed)); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"controller-uid": "u-fleet"}, snapshot.GeneratedLabels); diff != "" {
		t.Errorf("generated labels (-want +got):\n%s", diff)
	}
}

func TestParentsWithoutASnapshot(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false), shop, blog, broken)
	observer.Targets[0].Rules[0].Labels = labels.SelectorFromSet(labels.Set{"run": "here"})
	for what, parent := range map[string]object.Key{
		"a parent that is gone":                   name("default", "gone"),
		"a parent that the controller is not for": name("default", "blog"),
		"one that is in another namespace":        name("far", "shop"),
	} {
		if snapshot := observer.Parent(parent); snapshot != nil {
			t.Errorf("%s: snapshot %v", what, snapshot)
		}
	}
	observer.Targets[0].Rules[0].Labels = labels.Everything()
	if err := observer.Claim(observer.Parent(name("default", "broken"))); err == nil {
		t.Error("children of a parent without a selector were found")
	}
}

func TestParentsOfAChange(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false), shop, blog, faraway, broken)
	child := func(rest string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, ` + rest + `}}`
	}
	tests := map[string]struct {
		before, after string
		want          []object.Key
	}{
		"a child of a parent":                           {after: child(ofShop), want: []object.Key{name("default", "shop")}},
		"a child that is gone":                          {before: child(ofShop), want: []object.Key{name("default", "shop")}},
		"a child that went from one to another":         {before: child(ofShop), after: child(ofBlog), want: []object.Key{name("default", "shop"), name("default", "blog")}},
		"a child that was let go":                       {before: child(ofShop), after: child(`labels: {app: x}`), want: []object.Key{name("default", "shop")}},
		"a child that another parent may adopt now":     {before: child(ofShop), after: child(`labels: {app: blog}`), want: []object.Key{name("default", "shop"), name("default", "blog")}},
		"an orphan that a parent may adopt":             {after: child(`labels: {app: shop}`), want: []object.Key{name("default", "shop")}},
		"an orphan with an owner that is no controller": {after: child(`labels: {app: shop}, ` + asOwner), want: []object.Key{name("default", "shop")}},
		"an orphan whose labels came to match":          {before: child(`labels: {app: x}`), after: child(`labels: {app: shop}`), want: []object.Key{name("default", "shop")}},
		"an orphan that nobody may adopt":               {after: child(`labels: {app: x}`)},
		"an orphan without labels":                      {after: child(`uid: u`)},
		"an orphan that is gone":                        {before: child(`labels: {app: shop}`)},
		"a child of somebody else":                      {after: child(`labels: {app: shop}, ` + ofOthers)},
		"a child of a parent that is gone":              {after: child(`ownerReferences: [{apiVersion: ctl.example/v1, kind: Web, name: gone, uid: u-gone, controller: true}]`)},
		"a child of a parent's namesake":                {after: child(`ownerReferences: [{apiVersion: ctl.example/v1, kind: Web, name: shop, uid: other, controller: true}]`)},
		"a child by another version of the parent":      {after: child(`ownerReferences: [{apiVersion: ctl.example/v1beta1, kind: Web, name: shop, uid: u-shop, controller: true}]`), want: []object.Key{name("default", "shop")}},
		"a child in another namespace":                  {after: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: far, labels: {app: shop}}}`, want: []object.Key{name("far", "shop")}},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			got := map[object.Key]bool{}
			for _, parent := range parentsOf(t, observer, test.before, test.after) {
				got[parent] = true
			}
			want := map[object.Key]bool{}
			for _, parent := range test.want {
				want[parent] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
		})
	}
}

// parentsOf returns the parents that a change concerns, and checks that MayConcern agrees.
func parentsOf(t *testing.T, observer *Observer, before, after string) []object.Key {
	t.Helper()
	was, is := optional(t, before), optional(t, after)
	parents := observer.ParentsOf(was, is)
	if len(parents) > 0 && !observer.MayConcern(was, is) {
		t.Errorf("it is told that there are no parents, and there are %v", parents)
	}
	return parents
}

func TestWhatMayConcernParents(t *testing.T) {
	byLabels, byGenerated, byAnnotation := NewLabelClaims(false), NewLabelClaims(true), AnnotationClaims{Name: "pages"}
	child := func(rest string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, ` + rest + `}}`
	}
	generated := child("labels: {controller-uid: u}")
	tests := map[string]struct {
		claims        Claims
		before, after string
		want          bool
	}{
		"a child of a kind of parents":                         {byLabels, "", child(ofShop), true},
		"one that was":                                         {byLabels, child(ofShop), child(ofOthers), true},
		"a child of another kind":                              {byLabels, "", child(ofOthers), false},
		"a child of another kind that has the labels":          {byGenerated, "", child("labels: {controller-uid: u}, " + ofOthers), false},
		"an orphan, which any selector may match":              {byLabels, "", child("labels: {app: x}"), true},
		"an orphan that is gone":                               {byLabels, child("labels: {app: x}"), "", false},
		"an orphan with a generated label":                     {byGenerated, "", generated, true},
		"an orphan without":                                    {byGenerated, "", child("labels: {app: x}"), false},
		"an orphan that has lost it":                           {byGenerated, generated, child("labels: {app: x}"), false},
		"an attachment, which is not for a composite":          {byLabels, "", child(attached + ", " + ofShop), false},
		"an attachment without a target, neither":              {byLabels, "", child(attached), false},
		"an attachment of the decorator":                       {byAnnotation, "", child(attached + ", " + ofShop), true},
		"an attachment of another one":                         {byAnnotation, "", child(byOthers + ", " + ofShop), false},
		"an attachment without a target, which nobody adopts":  {byAnnotation, "", child(attached), false},
		"a child of a target which is not the decorator's own": {byAnnotation, "", child(ofShop), false},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			observer, _ := observing(t, webs, test.claims)
			if got := observer.MayConcern(optional(t, test.before), optional(t, test.after)); got != test.want {
				t.Errorf("it may concern parents: %v, want %v", got, test.want)
			}
		})
	}
}

func TestParentsOfAChangeWithGeneratedSelectors(t *testing.T) {
	observer, _ := observing(t, fleets, NewLabelClaims(true),
		`{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: shop, uid: u-fleet}}`, `{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: blog, uid: u-blog}}`)
	tests := map[string]struct {
		child string
		want  []object.Key
	}{
		"an orphan with the label":    {`{metadata: {name: a, namespace: one, labels: {controller-uid: u-fleet}}}`, []object.Key{name("", "shop")}},
		"an orphan with another's":    {`{metadata: {name: a, namespace: one, labels: {controller-uid: u-blog}}}`, []object.Key{name("", "blog")}},
		"an orphan with nobody's":     {`{metadata: {name: a, namespace: one, labels: {controller-uid: gone}}}`, nil},
		"an orphan without the label": {`{metadata: {name: a, namespace: one, labels: {app: shop}}}`, nil},
		"a child, in any namespace": {
			`{metadata: {name: a, namespace: one, ownerReferences: [{apiVersion: ctl.example/v1, kind: Fleet, name: shop, uid: u-fleet, controller: true}]}}`,
			[]object.Key{name("", "shop")},
		},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			if diff := cmp.Diff(test.want, parentsOf(t, observer, "", test.child)); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCountChange(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false))
	observer.Targets[0].Rules[0].Labels = labels.SelectorFromSet(labels.Set{"run": "here"})
	observer.Finalizer = "example.com/held"
	const (
		selected = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: a, namespace: default, labels: {run: here}}}`
		held     = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: a, namespace: default, finalizers: [example.com/held]}}`
		other    = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: a, namespace: default}}`
	)
	tests := map[string]struct {
		before, after string
		want          int
	}{
		"a parent comes":                        {after: selected, want: 1},
		"a parent goes":                         {before: selected, want: -1},
		"a parent stays":                        {before: selected, after: selected},
		"an object becomes a parent":            {before: other, after: selected, want: 1},
		"a parent is let go":                    {before: held, after: other, want: -1},
		"a parent is selected no more and held": {before: selected, after: held},
		"an object of no concern":               {after: other},
		"an object of another kind":             {after: `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, labels: {run: here}}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := observer.CountChange(optional(t, test.before), optional(t, test.after)); got != test.want {
				t.Errorf("it is %d, want %d", got, test.want)
			}
		})
	}
}

func selecting(t *testing.T, text string) labels.Selector {
	t.Helper()
	selector, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

func annotated(t *testing.T, key, value string) AnnotationSelector {
	t.Helper()
	selector, err := NewAnnotationSelector(map[string]string{key: value}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

// Q41: of two rules for one kind both count.
func TestQ41AnyRuleSelects(t *testing.T) {
	target := &Target{Rules: []Rule{
		{Labels: selecting(t, "app=a")},
		{Labels: selecting(t, "app=b"), Annotations: annotated(t, "run", "yes")},
	}}
	for parent, want := range map[string]bool{
		`{metadata: {labels: {app: a}}}`:                            true,
		`{metadata: {labels: {app: b}, annotations: {run: "yes"}}}`: true,
		`{metadata: {labels: {app: b}}}`:                            false,
		`{metadata: {labels: {app: c}, annotations: {run: "yes"}}}`: false,
		`{metadata: {}}`: false,
	} {
		if got := target.selects(parsed(t, parent)); got != want {
			t.Errorf("%s is selected: %v, want %v", parent, got, want)
		}
	}
}

func TestAChangeOfStatusIsPassedOverIfNoRuleWantsIt(t *testing.T) {
	watching, ignoring := Rule{Labels: selecting(t, "app=a")}, Rule{Labels: selecting(t, "app=b"), IgnoreStatusChanges: true}
	both := Rule{Labels: selecting(t, "app"), IgnoreStatusChanges: true}
	const a, b, c = `{metadata: {labels: {app: a}}}`, `{metadata: {labels: {app: b}}}`, `{metadata: {labels: {app: c}}}`
	tests := map[string]struct {
		rules  []Rule
		parent string
		want   bool
	}{
		"the rule wants it":                           {[]Rule{watching}, a, false},
		"the rule ignores it":                         {[]Rule{ignoring}, b, true},
		"the rule that selects wants it":              {[]Rule{ignoring, watching}, a, false},
		"the rule that selects ignores it":            {[]Rule{watching, ignoring}, b, true},
		"both select, and one wants it":               {[]Rule{both, watching}, a, false},
		"none selects, and one of them would want it": {[]Rule{watching, ignoring}, c, true},
		"none selects, and none would ignore it":      {[]Rule{watching}, c, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (&Target{Rules: test.rules}).ignoresStatus(parsed(t, test.parent)); got != test.want {
				t.Errorf("passed over: %v, want %v", got, test.want)
			}
		})
	}
}

func TestWhoNeedsToSeeAllParents(t *testing.T) {
	labelled, unlabelled := Rule{Labels: labels.SelectorFromSet(labels.Set{"a": "1"})}, Rule{Labels: labels.Everything()}
	for name, test := range map[string]struct {
		rules     []Rule
		finalizes bool
		want      bool
	}{
		"it selects by labels":               {[]Rule{labelled}, false, false},
		"each of its rules does":             {[]Rule{labelled, labelled}, false, false},
		"one of its rules does not":          {[]Rule{labelled, unlabelled}, false, true},
		"it selects by labels and finalizes": {[]Rule{labelled}, true, true},
		"it selects everything":              {[]Rule{unlabelled}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NeedsAllObjects(test.rules, test.finalizes); got != test.want {
				t.Errorf("it needs to see all parents: %v", got)
			}
		})
	}
}

func TestSchemas(t *testing.T) {
	pods, webs := object.Type{Kind: "Pod"}, object.Type{Kind: "Web"}
	old, new := &openapi.Type{}, &openapi.Type{}
	known := map[object.Type]*openapi.Type{pods: old}
	schemas := NewSchemas(known)
	delete(known, pods)
	if schemas.of(pods) != old || schemas.of(webs) != nil {
		t.Error("it does not know what it was made with, or more")
	}
	if changed := schemas.Update(map[object.Type]*openapi.Type{webs: new}); !changed || schemas.currentVersion() != 2 {
		t.Errorf("it changed: %v, and has the version %d", changed, schemas.currentVersion())
	}
	if changed := schemas.Update(map[object.Type]*openapi.Type{webs: new}); changed || schemas.currentVersion() != 2 {
		t.Errorf("the same again: it changed: %v, and has the version %d", changed, schemas.currentVersion())
	}
	if schemas.of(pods) != old || schemas.of(webs) != new {
		t.Error("what is not told of a type should leave what was known")
	}
	schemas.Update(map[object.Type]*openapi.Type{pods: new})
	if schemas.of(pods) != new {
		t.Error("what is told of a type should count")
	}
	var none *Schemas
	if none.of(pods) != nil || none.currentVersion() != 0 {
		t.Error("no schemas should know nothing")
	}
	empty := NewSchemas(nil)
	empty.Update(map[object.Type]*openapi.Type{pods: new})
	if empty.of(pods) != new {
		t.Error("what is told first should count")
	}
}
