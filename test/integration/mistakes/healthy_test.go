// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"regexp"
	"strings"
)

// healthy reports whether a person who looks at this output of kubectl would think that all is well:
// the controller is stored without a warning, its row says that nothing is wrong, and there is no
// Warning event.
func healthy(shown string) bool {
	if strings.Contains(shown, "\nWarning: ") || strings.Contains(shown, "\nError") || strings.Contains(shown, "is invalid") {
		return false
	}
	if warningEvent.MatchString(shown) {
		return false
	}
	row, found := controllerRow(shown)
	return !found || row["READY"] == "True" && row["SYNCED"] == "True" && row["FAILING"] == "0" && row["WARNED"] == "0" && row["OUTDATED"] == "0"
}

var warningEvent = regexp.MustCompile(`(?m)^ *Warning  `)

// controllerRow returns the cells of the row of the controller by their headings.
func controllerRow(shown string) (map[string]string, bool) {
	_, table, found := strings.Cut(shown, "-o wide\n")
	lines := strings.Split(table, "\n")
	if !found || len(lines) < 2 {
		return nil, false
	}
	row := map[string]string{}
	cells := strings.Split(lines[1], "  ")
	for i, heading := range strings.Split(lines[0], "  ") {
		if i < len(cells) {
			row[heading] = cells[i]
		}
	}
	return row, true
}
