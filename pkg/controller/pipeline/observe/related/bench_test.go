// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// What the change of one object costs when 1,000 parents have a rule each, and one of the rules
// selects the object.
func BenchmarkConcerned(b *testing.B) {
	only := "parent=500"
	rules := map[string]func(i int) *rule{
		"names in a namespace": func(i int) *rule {
			return &rule{within: []string{fmt.Sprint("n", i)}, names: []string{fmt.Sprint("o", i)}}
		},
		"names": func(i int) *rule { return &rule{names: []string{fmt.Sprint("o", i)}} },
		"labels in a namespace": func(i int) *rule {
			return &rule{within: []string{fmt.Sprint("n", i)}, labels: selector(b, &only)}
		},
		"labels": func(i int) *rule {
			return &rule{labels: labels.SelectorFromSet(labels.Set{"parent": fmt.Sprint(i)})}
		},
	}
	configMap := parsed(b, `{metadata: {name: o500, namespace: n500, labels: {parent: "500"}}}`)
	for name, make := range rules {
		b.Run(name, func(b *testing.B) {
			of := &source{rules: index{}, byLabels: sets.New[*rule]()}
			for i := range 1000 {
				r := make(i)
				r.parent, r.of = keyOf("own", fmt.Sprint(i)), configMaps
				of.rules.add(r)
			}
			o := &Observer{sources: map[object.Type]*source{configMaps: of}}
			b.ReportAllocs()
			for b.Loop() {
				if parents := o.concerned(configMaps, nil, configMap); len(parents) != 1 {
					b.Fatal(parents)
				}
			}
		})
	}
}

// What one observation costs when the caches hold 45,000 objects of the type in 1,000
// namespaces, and a rule selects 45 of them.
func BenchmarkObserve(b *testing.B) {
	only := "only=these"
	o := observe(b)
	for i := range 45000 {
		labels := ""
		if i%1000 == 500 {
			labels = ", labels: {only: these}"
		}
		o.host.put(b, configMaps, fmt.Sprintf(`name: o%d, namespace: n%d%s`, i/1000, i%1000, labels))
	}
	for i := range 1000 {
		o.host.put(b, namespaces, fmt.Sprintf(`name: n%d, labels: {number: n%d}`, i, i))
	}
	in500 := "number=n500"
	for name, rule := range map[string]pipeline.RelatedRule{
		"a namespace":          {Namespace: "n500"},
		"labels":               {LabelSelector: selector(b, &only)},
		"labels of namespaces": {NamespaceSelector: selector(b, &in500)},
	} {
		b.Run(name, func(b *testing.B) {
			rule.APIVersion, rule.Resource = "v1", "configmaps"
			o.says(rule)
			answer, snapshot := &Answer{}, &pipeline.Snapshot{Parent: parsed(b, inNamespace)}
			observed := func() (objects int) {
				if err := o.Observe(b.Context(), answer, snapshot); err != nil {
					return 0
				}
				return len(snapshot.Related[0].Objects)
			}
			is := "empty"
			o.eventually("the objects are seen", func() bool { return observed() == 45 }, &is)
			b.ReportAllocs()
			for b.Loop() {
				observed()
			}
		})
	}
}
