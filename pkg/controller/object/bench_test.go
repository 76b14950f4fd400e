// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

// samples are objects as a host sends them, by what is large in them.
var samples = map[string]string{
	"ConfigMap of 1 KB": sample("ConfigMap", fmt.Sprintf(`"data":{"config":"%s"}`, strings.Repeat("key=value ", 60))),
	"Pod of 6 KB": sample("Pod", fmt.Sprintf(`"spec":{"containers":[%s]},"status":{"phase":"Running"}`,
		strings.TrimSuffix(strings.Repeat(`{"name":"c","image":"registry.example/app:v1.2.3","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],`+
			`"ports":[{"containerPort":8080,"protocol":"TCP"}],"resources":{"limits":{"cpu":"1","memory":"1Gi"}}},`, 24), ","))),
	"CustomResourceDefinition of 300 KB": sample("CustomResourceDefinition", fmt.Sprintf(`"spec":{"x":{%s"z":1}}`,
		strings.Repeat(`"field":{"type":"object","description":"what it is for","properties":{"a":{"type":"string"}}},`, 3000))),
}

func sample(kind, content string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":"web-0","namespace":"default","uid":"8f6a0b1e-3c1f-4f6e-9a52-0d4f8f3b6a11",`+
		`"resourceVersion":"123456","generation":3,"creationTimestamp":"2026-03-04T05:06:07Z","labels":{"app":"web","tier":"front"},`+
		`"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{\"kind\":\"%s\"}"},`+
		`"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"web","uid":"d2c9","controller":true,"blockOwnerDeletion":true}],`+
		`"managedFields":[{"manager":"metacontroller","operation":"Update","apiVersion":"v1","time":"2026-03-04T05:06:07Z","fieldsType":"FieldsV1",`+
		`"fieldsV1":{"f:data":{".":{},"f:config":{}},"f:metadata":{"f:labels":{".":{},"f:app":{}}}}}]},%s}`, kind, kind, content)
}

func BenchmarkParse(b *testing.B) {
	for name, raw := range samples {
		b.Run(name, func(b *testing.B) {
			input := []byte(raw)
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecodeToMaps is what Parse is there to avoid.
func BenchmarkDecodeToMaps(b *testing.B) {
	for name, raw := range samples {
		b.Run(name, func(b *testing.B) {
			input := []byte(raw)
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			for b.Loop() {
				var content map[string]any
				if err := json.Unmarshal(input, &content); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The work of Parse must not grow with content that it does not parse.
func TestParseAllocatesNoMoreForLargerContent(t *testing.T) {
	allocations := map[string]float64{}
	for name, raw := range samples {
		input := []byte(raw)
		allocations[name] = testing.AllocsPerRun(20, func() {
			if _, err := Parse(input); err != nil {
				t.Fatal(err)
			}
		})
	}
	small := allocations["ConfigMap of 1 KB"]
	for name, count := range allocations {
		if count > small+8 {
			t.Errorf("a %s takes %.0f allocations, a ConfigMap of 1 KB %.0f", name, count, small)
		}
	}
}

// They are the object with its strings, labels and JSON, what encoding/json takes for the time
// and the owners, who owns which fields, and the decoders.
func TestWhatParseAllocates(t *testing.T) {
	input := []byte(samples["ConfigMap of 1 KB"])
	alloctest.AtMost(t, 53, func() {
		if _, err := Parse(input); err != nil {
			t.Fatal(err)
		}
	})
}
