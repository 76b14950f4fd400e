// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

var webs = object.Type{
	GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "webs"}, Kind: "Web", Namespaced: true,
}

func TestRevisionName(t *testing.T) {
	hash := fmt.Sprintf("%x", sha1.Sum([]byte(`2b6f6b6e-uid{"spec":{"a":1}}`)))
	tests := map[string]struct{ group, resource, want string }{
		"a type of a group":          {"ctl.example", "webs", "webs.ctl.example-" + hash},
		"a type of the core group":   {"", "pods", "pods.core-" + hash},
		"a name of the length there": {strings.Repeat("g", 207), "webs", "webs." + strings.Repeat("g", 207) + "-" + hash},
		"a longer name is cut":       {strings.Repeat("g", 300), "webs", "webs." + strings.Repeat("g", 207) + "-" + hash},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			of := object.Type{GroupVersionResource: schema.GroupVersionResource{Group: test.group, Version: "v1", Resource: test.resource}, Kind: "Web"}
			if got := Name(of, "2b6f6b6e-uid", []byte(`{"spec":{"a":1}}`)); got != test.want {
				t.Errorf("name is %s, want %s", got, test.want)
			}
		})
	}
}

func parse(t testing.TB, text string) *object.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	parsed, err := object.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return parsed
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error: %v", err)
	case want != "" && err == nil:
		t.Errorf("there is no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error is %q, want it to say %q", err, want)
	}
}

func TestQ5NewRevisionsMatchTheSelectorOfTheirParent(t *testing.T) {
	const app, tier = "app", "tier"
	tests := map[string]struct {
		// template are the labels of the parent's Pod template.
		template  string
		generated map[string]string
		selector  labels.Selector
		want      labels.Set
	}{
		"a template that matches, as in the original": {
			template: `{app: shop, version: two}`, selector: require(app, selection.In, "shop"),
			want: labels.Set{app: "shop", "version": "two"},
		},
		"a generated selector, as in the original": {
			template: `{app: shop}`, generated: map[string]string{"controller-uid": "u"}, selector: require("controller-uid", selection.Equals, "u"),
			want: labels.Set{"controller-uid": "u"},
		},
		"no template":                            {template: `null`, selector: require(app, selection.Equals, "shop"), want: labels.Set{app: "shop"}},
		"a template of something else":           {template: `[1]`, selector: require(app, selection.Equals, "shop"), want: labels.Set{app: "shop"}},
		"a template with another value":          {template: `{app: store}`, selector: require(app, selection.Equals, "shop"), want: labels.Set{app: "shop"}},
		"one of several values, the first":       {template: `{}`, selector: require(app, selection.In, "web", "shop"), want: labels.Set{app: "shop"}},
		"a label that must be there":             {template: `{}`, selector: require(app, selection.Exists), want: labels.Set{app: ""}},
		"a label that must not be there":         {template: `{app: shop, tier: a}`, selector: require(tier, selection.DoesNotExist), want: labels.Set{app: "shop"}},
		"a value that must not be there":         {template: `{app: shop, tier: a}`, selector: require(tier, selection.NotIn, "a"), want: labels.Set{app: "shop"}},
		"labels of the template that cannot be":  {template: `{app: shop, "a b": c, d: "e f"}`, selector: labels.Everything(), want: labels.Set{app: "shop"}},
		"a selector that only the template fits": {template: `{app: shop, tier: b}`, selector: require(tier, selection.NotIn, "a"), want: labels.Set{app: "shop", tier: "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := labels.Set(Labels(&pipeline.Snapshot{
				ParentType: webs, Selector: test.selector, GeneratedLabels: test.generated,
				Parent: parse(t, `{kind: Web, metadata: {name: shop}, spec: {version: v1, template: {metadata: {labels: `+test.template+`}}}}`),
			}))
			test.want["metacontroller.k8s.io/apiGroup"], test.want["metacontroller.k8s.io/resource"] = "ctl.example", "webs"
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("labels differ (-want +got):\n%s", diff)
			}
			if !test.selector.Matches(got) {
				t.Errorf("%s does not match %v", test.selector, got)
			}
		})
	}
}

func require(key string, operator selection.Operator, values ...string) labels.Selector {
	requirement, err := labels.NewRequirement(key, operator, values)
	if err != nil {
		return labels.Nothing()
	}
	return labels.NewSelector().Add(*requirement)
}

type record = v1alpha1.ControllerRevision

func orphaned(of *record) { of.OwnerReferences = nil }

func unlabelled(of *record) { of.Labels = nil }

func renamed(of *record) { of.Name = "other" }

func dying(of *record) { of.DeletionTimestamp = &metav1.Time{} }

func ofOthers(of *record) { of.OwnerReferences[0].UID = "other-uid" }

func uncontrolled(of *record) { of.OwnerReferences[0].Controller = nil }

func otherType(of *record) { of.Labels[resourceLabel] = "others" }

func untyped(of *record) { delete(of.Labels, apiGroupLabel) }

func unselected(of *record) { of.Labels["app"] = "store" }

func broken(of *record) { of.ParentPatch.Raw = []byte("[]") }

func TestWhichRevisionsAreTheParents(t *testing.T) {
	tests := map[string]struct {
		is          []func(*record)
		parentDying bool
		want, adopt bool
	}{
		"one that it controls":                                             {want: true},
		"one that it controls, of a parent being deleted":                  {parentDying: true, want: true},
		"one that another parent controls":                                 {is: []func(*record){ofOthers}},
		"an orphan with the labels":                                        {is: []func(*record){orphaned, renamed}, want: true, adopt: true},
		"one that it owns but does not control":                            {is: []func(*record){uncontrolled}, want: true, adopt: true},
		"an orphan of another type of parent":                              {is: []func(*record){orphaned, renamed, otherType}},
		"an orphan without the type of its parent":                         {is: []func(*record){orphaned, renamed, untyped}},
		"an orphan that the selector does not match":                       {is: []func(*record){orphaned, renamed, unselected}},
		"an orphan whose name only a revision of the parent can have":      {is: []func(*record){orphaned, unlabelled}, want: true, adopt: true},
		"an orphan that cannot be read and has no labels":                  {is: []func(*record){orphaned, unlabelled, broken}},
		"an orphan that is being deleted":                                  {is: []func(*record){orphaned, dying}},
		"an orphan with the labels, of a parent being deleted":             {is: []func(*record){orphaned, renamed}, parentDying: true},
		"an orphan with the name, of a parent being deleted":               {is: []func(*record){orphaned, unlabelled}, parentDying: true, want: true, adopt: true},
		"a dying orphan with the name, of a parent being deleted":          {is: []func(*record){orphaned, dying}, parentDying: true, want: true, adopt: true},
		"one that it controls and that has lost its labels stays (Q5)":     {is: []func(*record){unlabelled, renamed}, want: true},
		"one that it controls and the selector does not match stays (Q5)":  {is: []func(*record){unselected, renamed}, want: true},
		"one of the original that the original has let go comes back (Q5)": {is: []func(*record){orphaned, unselected}, want: true, adopt: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			patch := []byte(`{"spec":{"version":"v1"}}`)
			snapshot := &pipeline.Snapshot{
				ParentType: webs, Selector: labels.SelectorFromSet(labels.Set{"app": "shop"}),
				Parent: parse(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid}, spec: {version: v1}}`),
			}
			stored := &record{
				ObjectMeta: metav1.ObjectMeta{
					Name: Name(webs, "parent-uid", patch), Namespace: "default", UID: "uid-of-the-revision",
					Labels: Labels(snapshot), OwnerReferences: []metav1.OwnerReference{OwnerReference(snapshot)},
				},
				ParentPatch: runtime.RawExtension{Raw: patch},
			}
			for _, change := range test.is {
				change(stored)
			}
			if test.parentDying {
				snapshot.Parent.DeletionTimestamp = &metav1.Time{}
			}
			owned := OwnedBy(snapshot, []*Stored{NewStored(stored)})
			if got := len(owned) == 1; got != test.want {
				t.Fatalf("it is the parent's: %v", got)
			}
			if test.want && owned[0].IsOrphan() != test.adopt {
				t.Errorf("it is an orphan: %v", owned[0].IsOrphan())
			}
		})
	}
}
