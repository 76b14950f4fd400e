// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"fmt"
	"regexp"
	"strings"
)

// compare compares what a page shows with what a command prints. What differs from run to run may differ.
func compare(shown, printed string) error {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for line := range strings.Lines(withoutAccidents(shown)) {
		line = strings.TrimSpace(line)
		if line == "..." {
			pattern.WriteString(`(?s:.*)`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`) + `\s*`)
	}
	if regexp.MustCompile(pattern.String() + `\z`).MatchString(withoutAccidents(printed)) {
		return nil
	}
	return fmt.Errorf("the page shows:\n%s\nbut this is printed:\n%s", withoutAccidents(shown), withoutAccidents(printed))
}

var (
	randomEnds = regexp.MustCompile(`-[a-z0-9]{6,10}-[a-z0-9]{5}\b`)
	addresses  = regexp.MustCompile(`\b10(\.\d+){3}\b`)
	ages       = regexp.MustCompile(`\b\d+[smhd](\d+[smh])*\b|<invalid>`)
	spaces     = regexp.MustCompile(`[ \t]+`)
)

// withoutAccidents returns a text with the same words for what differs from run to run.
func withoutAccidents(text string) string {
	text = randomEnds.ReplaceAllString(text, "-X")
	text = addresses.ReplaceAllString(text, "ADDRESS")
	text = ages.ReplaceAllString(text, "AGE")
	text = spaces.ReplaceAllString(text, " ")
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}
