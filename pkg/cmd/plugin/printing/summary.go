// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Summary returns the numbers of a review in a line or two.
func (s Style) Summary(summary *v1alpha1.SyncReviewSummary) string {
	var parts []string
	add := func(number int32, words string, style func(string) string) {
		if number > 0 {
			parts = append(parts, style(fmt.Sprintf("%d %s", number, words)))
		}
	}
	plain := func(text string) string { return text }
	add(summary.Changed, "would change", s.Heading)
	add(summary.Failed, "would fail", s.Bad)
	add(summary.Undecided, "not known", s.Warning)
	add(summary.Unchanged, "unchanged", plain)
	text := fmt.Sprintf("%s: %s", count(int(summary.Parents), "parent", "parents"), strings.Join(parts, ", "))
	if summary.Parents == 0 {
		return "There are no parents."
	}
	var writes []string
	for _, step := range summary.Steps {
		writes = append(writes, fmt.Sprintf("%s %d %s", verbs[step.Operation], step.Count, step.Kind))
	}
	if len(writes) > 0 {
		text += "\nWrites: " + strings.Join(writes, ", ")
	}
	return text
}
