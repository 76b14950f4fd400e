// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

// exchange is a format in a version, as it is measured.
type exchange struct {
	Format
	version v1alpha1.HookVersion
}

func exchanges() map[string]exchange {
	return map[string]exchange{
		"composite v1": {Composite(), v1alpha1.HookVersionV1},
		"composite v2": {Composite(), v1alpha1.HookVersionV2},
		"decorator v1": {Decorator(), v1alpha1.HookVersionV1},
		"decorator v2": {Decorator(), v1alpha1.HookVersionV2},
	}
}

// child is a ConfigMap of 1 KB as a hook desires it.
func child(i int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shop-%d","labels":{"app":"shop","tier":"front"}},"data":{"config":%q}}`,
		i, strings.Repeat("key=value\n", 80))
}

// withTenChildren is the snapshot of a parent of 1 KB with ten children of 1 KB.
func withTenChildren(t testing.TB) *pipeline.Snapshot {
	const owned = `"namespace":"default","uid":"8f6a0b1e-3c1f-4f6e-9a52-0d4f8f3b6a11","resourceVersion":"123456","creationTimestamp":"2026-03-04T05:06:07Z",` +
		`"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"shop","uid":"d2c9","controller":true,"blockOwnerDeletion":true}],`
	group := pipeline.Group{Type: typeOf("", "v1", "ConfigMap")}
	for i := range 10 {
		group.Claimed = append(group.Claimed, parsed(t, strings.Replace(child(i), `"metadata":{`, `"metadata":{`+owned, 1)))
	}
	return &pipeline.Snapshot{
		Controller: []byte(controller),
		Parent: parsed(t, fmt.Sprintf(`{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default","uid":"d2c9"},"spec":{"text":%q}}`,
			strings.Repeat("x", 900))),
		Children: []pipeline.Group{group},
	}
}

// answerWithTenChildren is the answer that desires them, as a hook writes it that does not
// pack its JSON.
func answerWithTenChildren(f Format) []byte {
	var children []string
	for i := range 10 {
		children = append(children, child(i))
	}
	return fmt.Appendf(nil, `{"status": {"replicas": 10}, %q: [%s], "resyncAfterSeconds": 0}`, f.children, strings.Join(children, ", "))
}

func BenchmarkRequest(b *testing.B) {
	snapshot := withTenChildren(b)
	for name, of := range exchanges() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(of.AppendRequest(nil, of.version, snapshot))))
			b.ReportAllocs()
			for b.Loop() {
				of.AppendRequest(nil, of.version, snapshot)
			}
		})
	}
}

// BenchmarkResponse reads an answer, as loose hooks and as strict hooks have it read.
func BenchmarkResponse(b *testing.B) {
	for name, of := range map[string]Format{"composite": Composite(), "decorator": Decorator()} {
		for _, closely := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s closely=%t", name, closely), func(b *testing.B) {
				answer := answerWithTenChildren(of)
				b.SetBytes(int64(len(answer)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := (&Decoder{FindDuplicates: closely}).Response(of, answer); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// A request is nothing but its bytes.
func TestWhatARequestAllocates(t *testing.T) {
	snapshot := withTenChildren(t)
	for name, of := range exchanges() {
		t.Run(name, func(t *testing.T) {
			alloctest.AtMost(t, 1, func() { of.AppendRequest(nil, of.version, snapshot) })
		})
	}
}

// Each child takes a dozen: itself, its labels, which are a map, and the strings of its
// metadata. Its JSON stays in the answer.
func TestWhatReadingAResponseAllocates(t *testing.T) {
	tests := map[string]struct {
		Format
		closely bool
		want    int
	}{
		"composite":          {Composite(), false, 129},
		"composite, closely": {Composite(), true, 137},
		"decorator":          {Decorator(), false, 131},
		"decorator, closely": {Decorator(), true, 139},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer := answerWithTenChildren(test.Format)
			alloctest.AtMost(t, test.want, func() {
				if _, err := (&Decoder{FindDuplicates: test.closely}).Response(test.Format, answer); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
