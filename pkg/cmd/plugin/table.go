// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printTable prints rows with columns as wide as their longest cells, three spaces apart, as kubectl does.
func printTable(to io.Writer, rows [][]string) error {
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(table, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return table.Flush()
}
