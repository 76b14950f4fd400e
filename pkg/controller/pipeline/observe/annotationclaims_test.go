// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"k8s.io/apimachinery/pkg/labels"
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
