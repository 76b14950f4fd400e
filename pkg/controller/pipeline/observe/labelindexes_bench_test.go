// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
