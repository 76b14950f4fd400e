// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A reason without a row would make its condition Unknown, whatever it says.
func TestEveryReasonHasARow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared, rows []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Errorf("%s: %v", spec.Names[0].Name, err)
		}
		declared = append(declared, reason)
		return true
	})
	for _, row := range conditionReasons {
		rows = append(rows, row.reason)
	}
	slices.Sort(declared)
	slices.Sort(rows)
	if rows = slices.Compact(rows); !slices.Equal(declared, rows) {
		t.Errorf("the reasons are\n%v\nand conditionReasons has\n%v", declared, rows)
	}
}
