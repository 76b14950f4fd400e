// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func BenchmarkUnknownFields(b *testing.B) {
	var containers, misspelt []string
	for i := range 10 {
		containers = append(containers, fmt.Sprintf(`{name: c%d, ports: [{containerPort: 80}, {containerPort: 443}], resources: {limits: {cpu: "1", memory: 1Gi}}}`, i))
	}
	for i := range 5000 {
		misspelt = append(misspelt, fmt.Sprintf(`{nam: c%d}`, i))
	}
	for name, value := range map[string]string{
		"none":                `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: shop}}, spec: {nodeSelector: {disk: fast}, containers: [` + strings.Join(containers, ", ") + `]}}`,
		"the same 5000 times": `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [` + strings.Join(misspelt, ", ") + `]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			of := read(b, pod)
			document, err := yaml.YAMLToJSON([]byte(value))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				of.UnknownFields(document)
			}
		})
	}
}
