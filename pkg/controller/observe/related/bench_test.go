// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// What the change of one object costs when 1,000 parents have a rule each, of which one
// selects the object.
func BenchmarkConcerned(b *testing.B) {
	only := "parent=500"
	rules := map[string]func(i int) *rule{
		"names in a namespace": func(i int) *rule { return &rule{namespace: fmt.Sprint("n", i), names: []string{fmt.Sprint("o", i)}} },
		"names":                func(i int) *rule { return &rule{names: []string{fmt.Sprint("o", i)}} },
		"labels in a namespace": func(i int) *rule {
			return &rule{namespace: fmt.Sprint("n", i), labels: selector(b, &only)}
		},
		"labels": func(i int) *rule {
			return &rule{labels: labels.SelectorFromSet(labels.Set{"parent": fmt.Sprint(i)})}
		},
	}
	object := parsed(b, `{metadata: {name: o500, namespace: n500, labels: {parent: "500"}}}`)
	for name, make := range rules {
		b.Run(name, func(b *testing.B) {
			of := &source{rules: index{}, byLabels: sets.New[*rule]()}
			for i := range 1000 {
				r := make(i)
				r.parent, r.of = types.NamespacedName{Namespace: "own", Name: fmt.Sprint(i)}, configMaps
				of.rules.add(r)
			}
			o := &Observer{sources: map[stage.Type]*source{configMaps: of}}
			b.ReportAllocs()
			for b.Loop() {
				if parents := o.concerned(configMaps, nil, object); len(parents) != 1 {
					b.Fatal(parents)
				}
			}
		})
	}
}
