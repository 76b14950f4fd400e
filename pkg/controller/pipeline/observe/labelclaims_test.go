// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func TestSelectorOfTheSpec(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"labels":                 {`{selector: {matchLabels: {app: shop, tier: web}}}`, "app=shop,tier=web"},
		"expressions":            {`{selector: {matchExpressions: [{key: app, operator: In, values: [a, b]}, {key: x, operator: DoesNotExist}]}}`, "app in (a,b),!x"},
		"labels and expressions": {`{selector: {matchLabels: {app: shop}, matchExpressions: [{key: x, operator: Exists}]}}`, "app=shop,x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			selector, err := NewLabelClaims(false).selectorOf(parsed(t, `{kind: Web, metadata: {name: shop, namespace: default, uid: u}, spec: `+test.spec+`}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := selector.String(); got != test.want {
				t.Errorf("the selector is %s, want %s", got, test.want)
			}
		})
	}
}

func TestASpecWithoutAUsableSelector(t *testing.T) {
	const empty = "Web default/shop: it has no spec.selector with matchLabels or matchExpressions: set spec.generateSelector: true in the controller, or give it one"
	tests := map[string]struct{ spec, want string }{
		"no spec":             {``, empty},
		"no selector":         {`, spec: {}`, empty},
		"a null":              {`, spec: {selector: null}`, empty},
		"an empty selector":   {`, spec: {selector: {}}`, empty},
		"no labels in it":     {`, spec: {selector: {matchLabels: {}, matchExpressions: []}}`, empty},
		"other fields in it":  {`, spec: {selector: {app: shop}}`, empty},
		"text":                {`, spec: {selector: "app=shop"}`, "Web default/shop: .spec.selector is not a label selector: it must be an object, not a JSON string"},
		"a list":              {`, spec: {selector: [1]}`, "Web default/shop: .spec.selector is not a label selector: it must be an object, not a JSON array"},
		"a number as a label": {`, spec: {selector: {matchLabels: {app: 1}}}`, "Web default/shop: .spec.selector is not a label selector: a JSON number is not allowed in matchLabels"},
		"an unknown operator": {`, spec: {selector: {matchExpressions: [{key: a, operator: Like}]}}`, `Web default/shop: .spec.selector: "Like" is not a valid label selector operator`},
		"no values for In":    {`, spec: {selector: {matchExpressions: [{key: a, operator: In}]}}`, "Web default/shop: .spec.selector: "},
		"a key that is none":  {`, spec: {selector: {matchLabels: {"a b": c}}}`, "Web default/shop: .spec.selector: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			selector, err := NewLabelClaims(false).selectorOf(parsed(t, `{kind: Web, metadata: {name: shop, namespace: default, uid: u}`+test.spec+`}`))
			if err == nil {
				t.Fatalf("the selector is %s", selector)
			}
			if !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error is %q, want it to begin with %q", err, test.want)
			}
		})
	}
}

func TestAGeneratedSelectorIsTheParentsUID(t *testing.T) {
	selectors := NewLabelClaims(true)
	parent := parsed(t, `{kind: Web, metadata: {name: shop, namespace: default, uid: u-1}, spec: {selector: {matchLabels: {app: shop}}}}`)
	selector, err := selectors.selectorOf(parent)
	if err != nil {
		t.Fatal(err)
	}
	if got := selector.String(); got != "controller-uid=u-1" {
		t.Errorf("the selector is %s", got)
	}
	if diff := cmp.Diff(map[string]string{"controller-uid": "u-1"}, selectors.generatedLabels(parent)); diff != "" {
		t.Errorf("generated labels (-want +got):\n%s", diff)
	}
}

func TestNoLabelIsGeneratedForASelectorOfTheSpec(t *testing.T) {
	if got := NewLabelClaims(false).generatedLabels(parsed(t, `{metadata: {uid: u}}`)); got != nil {
		t.Errorf("generated labels are %v", got)
	}
}

func TestASelectorFollowsItsSpec(t *testing.T) {
	selectors := NewLabelClaims(false)
	for _, step := range []struct{ parent, want string }{
		{`{metadata: {name: one, resourceVersion: "1"}, spec: {selector: {matchLabels: {app: one}}}}`, "app=one"},
		{`{metadata: {name: two, resourceVersion: "2"}, spec: {selector: {matchLabels: {app: two}}}}`, "app=two"},
		{`{metadata: {name: one, resourceVersion: "3"}, spec: {selector: {matchLabels: {app: one}}}}`, "app=one"},
		{`{metadata: {name: one, resourceVersion: "4"}, spec: {selector: {matchLabels: {app: three}}}}`, "app=three"},
	} {
		selector, err := selectors.selectorOf(parsed(t, step.parent))
		if err != nil {
			t.Fatal(err)
		}
		if got := selector.String(); got != step.want {
			t.Errorf("the selector of %s is %s", step.parent, got)
		}
	}
	if _, err := selectors.selectorOf(parsed(t, `{metadata: {name: one, resourceVersion: "5"}, spec: {selector: {}}}`)); err == nil {
		t.Error("a selector that was emptied is still used")
	}
}

func TestASelectorIsParsedOnceAndForgotten(t *testing.T) {
	selectors := NewLabelClaims(false)
	parent := `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, resourceVersion: %q}, spec: {selector: {matchLabels: {app: shop}}}}`
	const text = `{"matchLabels":{"app":"shop"}}`
	for _, version := range []string{"1", "2"} {
		if _, err := selectors.selectorOf(parsed(t, fmt.Sprintf(parent, version))); err != nil {
			t.Fatal(err)
		}
		if known := selectors.parsed[name("default", "shop")]; known.text != text || known.version != version {
			t.Errorf("remembered is %q of version %s", known.text, known.version)
		}
	}
	selectors.Forget(name("default", "shop"))
	if len(selectors.parsed) != 0 {
		t.Errorf("still remembered: %v", selectors.parsed)
	}
}

// A sync or an event may come upon a parent that is deleted at the same time.
func TestNothingIsRememberedOfAParentThatIsGone(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false), shop)
	gone := parsed(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: gone, namespace: default, uid: u}, spec: {selector: {matchLabels: {app: gone}}}}`)
	if err := observer.Claim(observer.ParentAs(gone)); err != nil {
		t.Fatal(err)
	}
	if err := observer.Claim(observer.Parent(name("default", "shop"))); err != nil {
		t.Fatal(err)
	}
	if known := observer.Claims.(*LabelClaims).parsed; len(known) != 1 || known[name("default", "shop")].text == "" {
		t.Errorf("remembered are %v", known)
	}
}

// The indexes find exactly the parents that looking at all of them finds, and the orphans that
// looking at all orphans finds, while parents come, change and go.
func TestIndexesFindWhatLookingAtAllFinds(t *testing.T) {
	for name, test := range map[string]struct {
		parents  object.Type
		generate bool
	}{
		"selectors of namespaced parents":           {webs, false},
		"generated selectors of namespaced parents": {webs, true},
		"selectors of cluster-scoped parents":       {fleets, false},
		"generated selectors of such parents":       {fleets, true},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(15, 14))
			orphans := make([]*object.Object, 300)
			texts := make([]string, len(orphans))
			for i := range orphans {
				orphans[i] = randomOrphan(random, i)
				texts[i] = inJSON(t, orphans[i])
			}
			claims := NewLabelClaims(test.generate)
			observer, host := observing(t, test.parents, claims, texts...)
			adopted, version := 0, 100
			for range 60 {
				kind, parent := "ADDED", randomParent(random, test.parents)
				target := observer.Targets[0].View
				if known := target.Get(object.KeyOf(parent).NamespacedName); known != nil {
					if kind = "MODIFIED"; random.IntN(4) == 0 {
						kind = "DELETED"
					}
				}
				version++
				parent.ResourceVersion = strconv.Itoa(version)
				host.send(t, kind, inJSON(t, parent))
				eventually(t, "the change is seen", func() bool { return target.Seen(parent.ResourceVersion) })
				for _, orphan := range orphans {
					want := adoptersAmongAll(observer, orphan)
					got := observer.adopters(orphan)
					sortKeys(got)
					if !slices.Equal(got, want) {
						t.Fatalf("the orphan %s in %q with labels %v is adopted by %v, want %v", orphan.Name, orphan.Namespace, orphan.Labels, got, want)
					}
					adopted += len(got)
				}
				for _, parent := range target.List() {
					snapshot := observer.ParentAs(parent)
					if observer.Claim(snapshot) != nil {
						continue // it has no usable selector
					}
					all := claim(configMaps, snapshot, nil, observer.Children[0].Orphans(parent.Namespace))
					if got, want := names(snapshot.Children[0].Adopt), names(all.Adopt); !slices.Equal(got, want) {
						t.Fatalf("%s adopts %v, want %v", parent, got, want)
					}
				}
			}
			if adopted < 100 {
				t.Errorf("%d orphans were adopted: the test hardly tries", adopted)
			}
		})
	}
}

// adoptersAmongAll asks all parents whether they adopt an orphan.
func adoptersAmongAll(o *Observer, orphan *object.Object) []object.Key {
	target, adopters := o.Targets[0], []object.Key{}
	for _, parent := range target.View.List() {
		if target.View.Type.Namespaced && parent.Namespace != orphan.Namespace {
			continue
		}
		if o.Claims.Adopts(parent, orphan) {
			adopters = append(adopters, object.KeyOf(parent))
		}
	}
	sortKeys(adopters)
	return adopters
}

func sortKeys(keys []object.Key) {
	slices.SortFunc(keys, func(a, b object.Key) int { return strings.Compare(a.String(), b.String()) })
}

func inJSON(t *testing.T, o *object.Object) string {
	t.Helper()
	content := map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": o.ObjectMeta}
	if spec := o.Lookup("spec"); spec != nil {
		content["spec"] = json.RawMessage(spec)
	}
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// randomOrphan makes an orphan with a random choice of labels.
func randomOrphan(random *rand.Rand, number int) *object.Object {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	orphan := &object.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("orphan-", number), Namespace: one("default", "far", "", "default"), Labels: map[string]string{}},
	}
	for key, values := range map[string][]string{"app": {"a", "b", "c", "-"}, "tier": {"x", "y", "-"}, "run": {"", "-"}, generatedLabel: {"u-p0", "u-p1", "u-p2", "gone", "-"}} {
		if value := one(values...); value != "-" {
			orphan.Labels[key] = value
		}
	}
	return orphan
}

// randomParent makes a parent with a random selector, which may be unusable.
func randomParent(random *rand.Rand, of object.Type) *object.Object {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	var requirements []string
	for range random.IntN(4) {
		requirements = append(requirements, one(
			`{"key":"app","operator":"In","values":["a","b"]}`, `{"key":"app","operator":"In","values":["c"]}`, `{"key":"app","operator":"NotIn","values":["a"]}`,
			`{"key":"tier","operator":"In","values":["x"]}`, `{"key":"tier","operator":"Exists"}`, `{"key":"tier","operator":"DoesNotExist"}`,
			`{"key":"run","operator":"In","values":[""]}`, `{"key":"run","operator":"Exists"}`,
		))
	}
	selector := one(`{"matchLabels":{"app":"a"},"matchExpressions":[%s]}`, `{"matchExpressions":[%s]}`, `{"matchExpressions":[%s]}`)
	name, namespace := one("p0", "p1", "p2", "p3", "p4", "p5"), ""
	if of.Namespaced {
		namespace = one("default", "default", "far")
	}
	raw := fmt.Sprintf(`{"apiVersion":"ctl.example/v1","kind":%q,"metadata":{"name":%q,"namespace":%q,"uid":"u-%s"},"spec":{"selector":`+selector+`}}`,
		of.Kind, name, namespace, name, strings.Join(requirements, ","))
	parent, err := object.Parse([]byte(raw))
	if err != nil {
		panic(err)
	}
	return parent
}
