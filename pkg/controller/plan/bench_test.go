// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// BenchmarkFirstSync is what a child costs the first sync after a start, when nothing is
// remembered; BenchmarkQuietSync what it costs those after that.
func BenchmarkFirstSync(b *testing.B) { benchmark(b, true) }
func BenchmarkQuietSync(b *testing.B) { benchmark(b, false) }

func benchmark(b *testing.B, forget bool) {
	const container = `{name: c%d, image: "registry.example/app:v1.2.3", ports: [{containerPort: 8080}], resources: {limits: {cpu: 1000m, memory: 1024Mi}}}`
	var containers []string
	for i := range 5 {
		containers = append(containers, fmt.Sprintf(container, i))
	}
	samples := map[stage.Type]string{
		configMaps: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {config: ` + strings.Repeat("x", 1000) + `}}`,
		pods:       `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: shop}}, spec: {containers: [` + strings.Join(containers, ", ") + `]}}`,
	}
	for of, child := range samples {
		b.Run(of.Kind, func(b *testing.B) {
			w := newWorld(b, web, of).method(InPlace)
			w.schemas[of] = described(b, of)
			w.children[of] = append(w.children[of], w.made(strings.NewReplacer("1000m", `"1"`, "1024Mi", "1Gi").Replace(child), child))
			snapshot, answer := w.snapshot(), w.answer(child)
			b.ReportAllocs()
			for b.Loop() {
				if forget {
					w.settled = Settled{}
				}
				if planned, err := Composite(snapshot, answer, w.strategies, &w.settled); err != nil || len(writes(planned)) > 0 {
					b.Fatal(planned, err)
				}
			}
		})
	}
}
