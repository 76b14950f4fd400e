// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkParentsOfAnOrphan is the event of an orphan where a thousand parents have
// selectors of their own: in one namespace, and in a hundred.
func BenchmarkParentsOfAnOrphan(b *testing.B) {
	const parents = 1000
	for _, namespaces := range []int{1, 100} {
		b.Run(fmt.Sprintf("namespaces=%d", namespaces), func(b *testing.B) {
			var objects []string
			for i := range parents {
				objects = append(objects, fmt.Sprintf(`{apiVersion: ctl.example/v1, kind: Web, metadata: {name: web-%d, namespace: ns-%d, uid: u-%d},
					spec: {replicas: 3, text: %q, selector: {matchLabels: {app: web-%d}}}}`, i, i%namespaces, i, strings.Repeat("x", 1000), i))
			}
			observer, _ := observing(b, webs, NewLabelClaims(false), objects...)
			orphan := parsed(b, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns-0, labels: {app: web-0}}}`)
			for b.Loop() {
				if found := observer.ParentsOf(nil, orphan); len(found) != 1 {
					b.Fatalf("found are %v", found)
				}
			}
		})
	}
}
