// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// query is an expression, and the text that is made of the labels of its results.
type query struct{ name, expr, shown string }

// addTo adds the metrics of the query, with the labels that it selects, groups and shows by.
func (q query) addTo(used map[string]map[string]struct{}) error {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.expr)
	if err != nil {
		return err
	}
	asked := map[string]struct{}{}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if grouped, ok := node.(*parser.AggregateExpr); ok {
			for _, label := range grouped.Grouping {
				asked[label] = struct{}{}
			}
		}
		return nil
	})
	for _, label := range regexp.MustCompile(`\{\{ *(?:\$labels\.)?([a-z_]+) *(?:\|[^}]*)?\}\}`).FindAllStringSubmatch(q.shown, -1) {
		asked[label[1]] = struct{}{}
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		of := used[selector.Name]
		if of == nil {
			of = map[string]struct{}{}
			used[selector.Name] = of
		}
		for label := range asked {
			of[label] = struct{}{}
		}
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != labels.MetricName {
				of[matcher.Name] = struct{}{}
			}
		}
		return nil
	})
	return nil
}
