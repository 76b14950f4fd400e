// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Table returns the table of an object or list as kubectl get prints it: one line for the headings,
// one for each row, and the columns of -o wide after a bar.
func Table(t testing.TB, convertor rest.TableConvertor, object runtime.Object) string {
	t.Helper()
	table, err := convertor.ConvertToTable(t.Context(), object, &metav1.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var headings []any
	for _, column := range table.ColumnDefinitions {
		if column.Description == "" {
			t.Errorf("column %s has no description", column.Name)
		}
		headings = append(headings, strings.ToUpper(column.Name))
	}
	lines := []string{line(table.ColumnDefinitions, headings)}
	for _, row := range table.Rows {
		lines = append(lines, line(table.ColumnDefinitions, row.Cells))
	}
	return strings.Join(lines, "\n")
}

func line(columns []metav1.TableColumnDefinition, cells []any) string {
	var text strings.Builder
	for i, cell := range cells {
		switch {
		case i == 0:
		case columns[i].Priority > 0 && columns[i-1].Priority == 0:
			text.WriteString(" | ")
		default:
			text.WriteString(" ")
		}
		fmt.Fprint(&text, cell)
	}
	return text.String()
}
