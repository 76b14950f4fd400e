// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

// claiming is a way of finding children, with the metadata by which it finds those of a parent.
type claiming struct {
	claims Claims
	marks  func(parent string) string
}

func claimings() map[string]claiming {
	return map[string]claiming{
		"by the parent's selector": {NewLabelClaims(false), func(parent string) string { return fmt.Sprintf(`labels: {app: %s}`, parent) }},
		"by a generated selector":  {NewLabelClaims(true), func(parent string) string { return fmt.Sprintf(`labels: {controller-uid: u-%s}`, parent) }},
		"by annotation":            {AnnotationClaims{Name: "pages"}, func(string) string { return attached }},
	}
}

// amid begins the snapshots of a parent with ten children and of one with two hundred. In
// their namespace are that many other parents, with two children each.
func amid(t testing.TB, others int, c claiming) (observer *Observer, ten, twoHundred *pipeline.Snapshot) {
	t.Helper()
	var objects []string
	add := func(parent string, children int) {
		objects = append(objects, fmt.Sprintf(`{apiVersion: ctl.example/v1, kind: Web, metadata: {name: %s, namespace: default, uid: u-%[1]s}, `+
			`spec: {selector: {matchLabels: {app: %[1]s}}}}`, parent))
		for i := range children {
			objects = append(objects, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s-%d, namespace: default, %s, `+
				`ownerReferences: [{apiVersion: ctl.example/v1, kind: Web, name: %[1]s, uid: u-%[1]s, controller: true}]}}`, parent, i, c.marks(parent)))
		}
	}
	add("ten", 10)
	add("two-hundred", 200)
	for i := range others {
		add(fmt.Sprint("web-", i), 2)
	}
	observer, _ = observing(t, webs, c.claims, objects...)
	return observer, observer.Parent(name("default", "ten")), observer.Parent(name("default", "two-hundred"))
}

// claimAll finds the children of a snapshot's parent.
func claimAll(t testing.TB, observer *Observer, snapshot *pipeline.Snapshot, children int) {
	if err := observer.Claim(snapshot); err != nil || len(snapshot.Children[0].Claimed) != children {
		t.Fatalf("claimed are %d children, error %v", len(snapshot.Children[0].Claimed), err)
	}
}

func BenchmarkClaim(b *testing.B) {
	for how, claiming := range claimings() {
		observer, ten, twoHundred := amid(b, 1000, claiming)
		for children, snapshot := range map[int]*pipeline.Snapshot{10: ten, 200: twoHundred} {
			b.Run(fmt.Sprintf("%s children=%d", how, children), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					claimAll(b, observer, snapshot, children)
				}
			})
		}
	}
}

// However many children and other parents there are: the groups of both child types, and of the
// one with children what the index finds, that as objects, and what of it is claimed. The
// others make a generated selector, or the annotation that is put on attachments.
func TestWhatClaimingAllocates(t *testing.T) {
	for how, want := range map[string]struct{ ten, twoHundred int }{
		"by the parent's selector": {5, 5},
		"by a generated selector":  {11, 11},
		"by annotation":            {7, 7},
	} {
		t.Run(how, func(t *testing.T) {
			observer, ten, twoHundred := amid(t, 100, claimings()[how])
			alloctest.AtMost(t, want.ten, func() { claimAll(t, observer, ten, 10) })
			alloctest.AtMost(t, want.twoHundred, func() { claimAll(t, observer, twoHundred, 200) })
		})
	}
}

// besideForeign returns an observer of 300 parents in a namespace that has so many foreign
// ConfigMaps, too, with labels of their own.
func besideForeign(b *testing.B, foreign int, claims Claims) *Observer {
	b.Helper()
	var objects []string
	for i := range 300 {
		objects = append(objects, fmt.Sprintf(`{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"web-%d","namespace":"default","uid":"u-%d"},`+
			`"spec":{"selector":{"matchLabels":{"app":"web-%d"}}}}`, i, i, i))
	}
	for i := range foreign {
		objects = append(objects, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other-%d","namespace":"default",`+
			`"labels":{"app":"other-%d","tier":"web","release":"%d"}}}`, i, i, i%10))
	}
	observer, _ := observing(b, webs, claims, objects...)
	return observer
}

// BenchmarkBesideForeignObjects measures what objects of others cost that are in the namespace of the
// parents. Each sync claims children beside them. Each event of such an object asks for its parents,
// and there are none.
func BenchmarkBesideForeignObjects(b *testing.B) {
	const foreign = 20_000
	for how, claims := range map[string]Claims{"generated selector": NewLabelClaims(true), "parents' selectors": NewLabelClaims(false)} {
		observer := besideForeign(b, foreign, claims)
		b.Run("claim by "+how, func(b *testing.B) {
			var snapshot *pipeline.Snapshot
			b.ReportAllocs()
			for b.Loop() {
				snapshot = observer.Parent(name("default", "web-0"))
				if err := observer.Claim(snapshot); err != nil || len(snapshot.Children[0].Claimed) > 0 {
					b.Fatalf("claimed are %v, error %v", snapshot.Children[0].Claimed, err)
				}
			}
		})
		orphan := parsed(b, `{apiVersion: v1, kind: ConfigMap, metadata: {name: other-1, namespace: default, labels: {app: other-1, tier: web, controller-uid: gone}}}`)
		b.Run("event by "+how, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if found := observer.ParentsOf(orphan, orphan); len(found) > 0 {
					b.Fatalf("found are %v", found)
				}
			}
		})
	}
}
