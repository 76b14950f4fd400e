// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// printTable prints rows with columns as wide as their longest cells, three spaces apart, as kubectl does. Only the last cell of a row may
// be coloured.
func printTable(to io.Writer, rows [][]string) error {
	var aligned strings.Builder
	table := tabwriter.NewWriter(&aligned, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(table, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(to, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// printServerTable prints a table of the server. Columns of lower priority are only in wide ones.
func printServerTable(to io.Writer, table *metav1.Table, wide, withNamespace bool) error {
	var heading []string
	if withNamespace {
		heading = append(heading, "NAMESPACE")
	}
	for _, column := range table.ColumnDefinitions {
		if wide || column.Priority == 0 {
			heading = append(heading, strings.ToUpper(column.Name))
		}
	}
	rows := [][]string{heading}
	for _, row := range table.Rows {
		var cells []string
		if withNamespace {
			var of metav1.PartialObjectMetadata
			if err := unmarshal(row.Object.Raw, &of); err != nil {
				return err
			}
			cells = append(cells, of.Namespace)
		}
		for i, cell := range row.Cells {
			if !wide && table.ColumnDefinitions[i].Priority != 0 {
				continue
			}
			text := fmt.Sprint(cell)
			if cell == nil {
				text = "<none>"
			}
			cells = append(cells, strings.Join(strings.Fields(text), " "))
		}
		rows = append(rows, cells)
	}
	return printTable(to, rows)
}
