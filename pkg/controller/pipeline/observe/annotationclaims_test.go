// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

const (
	attached = `annotations: {metacontroller.k8s.io/decorator-controller: pages}`
	byOthers = `annotations: {metacontroller.k8s.io/decorator-controller: other}`
)

func TestAttachments(t *testing.T) {
	observer, _ := observing(t, webs, AnnotationClaims{Name: "pages"}, shop,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default, `+attached+`, `+ofShop+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, `+attached+`, `+ofShop+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: of-another-decorator, namespace: default, `+byOthers+`, `+ofShop+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: of-a-composite, namespace: default, labels: {app: shop}, `+ofShop+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: of-another-target, namespace: default, `+attached+`, `+ofBlog+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, namespace: default, labels: {app: shop}, `+attached+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: elsewhere, namespace: far, `+attached+`, `+ofShop+`}}`,
	)
	snapshot := observer.Parent(name("default", "shop"))
	if err := observer.Claim(snapshot); err != nil {
		t.Fatal(err)
	}
	group := snapshot.Children[0]
	if diff := cmp.Diff([]string{"default/a", "default/b"}, names(group.Claimed)); diff != "" {
		t.Errorf("attachments (-want +got):\n%s", diff)
	}
	if len(group.Adopt) > 0 || len(group.Release) > 0 {
		t.Errorf("adopted are %v, let go %v", group.Adopt, group.Release)
	}
	want := map[string]string{"metacontroller.k8s.io/decorator-controller": "pages"}
	if diff := cmp.Diff(want, snapshot.GeneratedAnnotations); diff != "" || snapshot.GeneratedLabels != nil || !snapshot.Selector.Matches(labels.Set{}) {
		t.Errorf("the snapshot is %+v", snapshot)
	}
}

func TestAttachmentsOfAClusterScopedTargetAreInAnyNamespace(t *testing.T) {
	const of = `ownerReferences: [{apiVersion: ctl.example/v1, kind: Fleet, name: shop, uid: u-fleet, controller: true}]`
	observer, _ := observing(t, fleets, AnnotationClaims{Name: "pages"},
		`{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: shop, uid: u-fleet}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: one, `+attached+`, `+of+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: two, `+attached+`, `+of+`}}`,
	)
	snapshot := observer.Parent(name("", "shop"))
	if err := observer.Claim(snapshot); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one/a", "two/a"}, names(snapshot.Children[0].Claimed)); diff != "" {
		t.Errorf("attachments (-want +got):\n%s", diff)
	}
}

func TestTargetsOfAChange(t *testing.T) {
	observer, _ := observing(t, webs, AnnotationClaims{Name: "pages"}, shop, blog)
	child := func(rest string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, ` + rest + `}}`
	}
	ofTheShop := []object.Key{name("default", "shop")}
	tests := map[string]struct {
		before, after string
		want          []object.Key
	}{
		"an attachment comes":                            {"", child(attached + ", " + ofShop), ofTheShop},
		"an attachment goes":                             {child(attached + ", " + ofShop), "", ofTheShop},
		"an attachment loses its annotation":             {child(attached + ", " + ofShop), child(ofShop), ofTheShop},
		"an attachment loses its target":                 {child(attached + ", " + ofShop), child(attached), ofTheShop},
		"a child of somebody else's who has the target":  {"", child(ofShop), nil},
		"an attachment of another decorator":             {"", child(byOthers + ", " + ofShop), nil},
		"an attachment without an owner comes":           {"", child(attached), nil},
		"an object with the labels of a target's spec":   {"", child("labels: {app: shop}"), nil},
		"an attachment of a target that is not one here": {"", child(attached + ", " + ofOthers), nil},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			if diff := cmp.Diff(test.want, parentsOf(t, observer, test.before, test.after)); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// A composite and a decorator may have the same parents and the same types of children.
func TestAttachmentsAreNoChildrenOfAComposite(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false), shop,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: child, namespace: default, labels: {app: shop}, `+ofShop+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: alike, namespace: default, labels: {app: shop}, `+attached+`, `+ofShop+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: unlike, namespace: default, `+attached+`, `+ofShop+`}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, namespace: default, labels: {app: shop}, `+attached+`}}`,
	)
	snapshot := observer.Parent(name("default", "shop"))
	if err := observer.Claim(snapshot); err != nil {
		t.Fatal(err)
	}
	group := snapshot.Children[0]
	if diff := cmp.Diff([]string{"default/child"}, names(group.Claimed)); diff != "" || len(group.Adopt) > 0 || len(group.Release) > 0 {
		t.Errorf("children (-want +got):\n%s\nadopted are %v, let go %v", diff, group.Adopt, group.Release)
	}
	for _, attachment := range []string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: alike, namespace: default, labels: {app: shop}, ` + attached + `, ` + ofShop + `}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, namespace: default, labels: {app: shop}, ` + attached + `}}`,
	} {
		if parents := observer.ParentsOf(nil, parsed(t, attachment)); len(parents) > 0 {
			t.Errorf("%s concerns %v", attachment, parents)
		}
	}
}

func TestParentsOfSeveralKinds(t *testing.T) {
	const blogFleet = `{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: blog, uid: u-fleet}}`
	observer, _ := observing(t, webs, AnnotationClaims{Name: "pages"}, shop)
	fleetObserver, _ := observing(t, fleets, AnnotationClaims{Name: "pages"}, blogFleet)
	observer.Targets = append(observer.Targets, fleetObserver.Targets...)

	for _, key := range []object.Key{name("default", "shop"), name("", "blog")} {
		snapshot := observer.Parent(key)
		if snapshot == nil || snapshot.ParentType.GroupKind() != key.GroupKind || object.KeyOf(snapshot.Parent) != key {
			t.Errorf("the snapshot of %s is %+v", key, snapshot)
		}
	}
	if all := observer.Parents(); len(all) != 2 {
		t.Errorf("the parents are %v", all)
	}
	ofFleet := `ownerReferences: [{apiVersion: ctl.example/v1, kind: Fleet, name: blog, uid: u-fleet, controller: true}]`
	attachment := parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: one, `+attached+`, `+ofFleet+`}}`)
	if diff := cmp.Diff([]object.Key{name("", "blog")}, observer.ParentsOf(nil, attachment)); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

const (
	in           = metav1.LabelSelectorOpIn
	notIn        = metav1.LabelSelectorOpNotIn
	exists       = metav1.LabelSelectorOpExists
	doesNotExist = metav1.LabelSelectorOpDoesNotExist
)

func expression(operator metav1.LabelSelectorOperator, values ...string) []v1alpha1.LabelSelectorRequirement {
	return []v1alpha1.LabelSelectorRequirement{{Key: "a", Operator: operator, Values: values}}
}

// Q40: a value of an annotation may be any text, which no label could have.
func TestQ40AnnotationSelector(t *testing.T) {
	sentence := "All of this, " + strings.Repeat("and more, ", 30) + `and {"json": [1]}`
	tests := map[string]struct {
		match       map[string]string
		expressions []v1alpha1.LabelSelectorRequirement
		annotations map[string]string
		want        bool
	}{
		"nothing is asked":                             {nil, nil, nil, true},
		"the value is there":                           {map[string]string{"a": "1"}, nil, map[string]string{"a": "1", "b": "2"}, true},
		"another value is there":                       {map[string]string{"a": "1"}, nil, map[string]string{"a": "2"}, false},
		"the annotation is not there":                  {map[string]string{"a": "1"}, nil, nil, false},
		"an empty value is not an absent annotation":   {map[string]string{"a": ""}, nil, nil, false},
		"the value is no label's":                      {map[string]string{"a": sentence}, nil, map[string]string{"a": sentence}, true},
		"the value is nearly the one that is no label": {map[string]string{"a": sentence}, nil, map[string]string{"a": sentence + "."}, false},
		"In, and it is":                                {nil, expression(in, "x", sentence), map[string]string{"a": sentence}, true},
		"In, and it is not":                            {nil, expression(in, "x", "y"), map[string]string{"a": "z"}, false},
		"In, and it is not there":                      {nil, expression(in, "x"), nil, false},
		"NotIn, and it is":                             {nil, expression(notIn, sentence), map[string]string{"a": sentence}, false},
		"NotIn, and it is not":                         {nil, expression(notIn, "x"), map[string]string{"a": "y"}, true},
		"NotIn, and it is not there":                   {nil, expression(notIn, "x"), nil, true},
		"Exists, and it does":                          {nil, expression(exists), map[string]string{"a": ""}, true},
		"Exists, and it does not":                      {nil, expression(exists), map[string]string{"b": ""}, false},
		"DoesNotExist, and it does":                    {nil, expression(doesNotExist), map[string]string{"a": ""}, false},
		"DoesNotExist, and it does not":                {nil, expression(doesNotExist), nil, true},
		"all must hold, and one does not":              {map[string]string{"b": "2"}, expression(exists), map[string]string{"a": "1"}, false},
		"all must hold, and do":                        {map[string]string{"b": "2"}, expression(exists), map[string]string{"a": "1", "b": "2"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			selector, err := NewAnnotationSelector(test.match, test.expressions)
			if err != nil {
				t.Fatal(err)
			}
			if got := selector.Matches(&object.Object{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}); got != test.want {
				t.Errorf("matches: %v, want %v", got, test.want)
			}
		})
	}
}

func TestAnAnnotationSelectorThatCannotBeEvaluated(t *testing.T) {
	tests := map[string]struct {
		expressions []v1alpha1.LabelSelectorRequirement
		want        string
	}{
		"an unknown operator":       {expression("Like", "x"), `annotation "a": "Like" is not a valid label selector operator; valid are In, NotIn, Exists and DoesNotExist`},
		"In without values":         {expression(in), `annotation "a": operator In needs values`},
		"NotIn without values":      {expression(notIn), `annotation "a": operator NotIn needs values`},
		"Exists with values":        {expression(exists, "x"), `annotation "a": operator Exists takes no values`},
		"DoesNotExist with a value": {expression(doesNotExist, "x"), `annotation "a": operator DoesNotExist takes no values`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := NewAnnotationSelector(nil, test.expressions); err == nil || err.Error() != test.want {
				t.Errorf("error is %v, want %s", err, test.want)
			}
		})
	}
}

// What repeats a whole object is not kept beside the object's JSON, and can be selected all the same.
func TestAnAnnotationThatRepeatsTheObjectIsSelected(t *testing.T) {
	applied, made := parsed(t, `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}}`), parsed(t, `{metadata: {}}`)
	there := []v1alpha1.LabelSelectorRequirement{{Key: "kubectl.kubernetes.io/last-applied-configuration",
		Operator: exists}}
	selector, err := NewAnnotationSelector(nil, there)
	if err != nil {
		t.Fatal(err)
	}
	if !selector.Matches(applied) || selector.Matches(made) {
		t.Errorf("selected are what kubectl has applied: %v, and what it has not: %v", selector.Matches(applied), selector.Matches(made))
	}
}
