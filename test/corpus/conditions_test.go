// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// Every reason of a condition is explained, and nothing else is.
func TestReasonsOfConditionsAreDocumented(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "pkg", "controller", "pipeline", "report", "status.go"))
	if err != nil {
		t.Fatal(err)
	}
	var given, told []string
	for _, match := range regexp.MustCompile(`(?m)^\tReason\w+ += "(\w+)"$`).FindAllSubmatch(source, -1) {
		given = append(given, string(match[1]))
	}
	_, below, found := strings.Cut(readDocs(t), "\n| reason | at |")
	if !found || len(given) == 0 {
		t.Fatalf("reasons are %v, the table of reasons is there: %v", given, found)
	}
	for _, match := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(below, -1) {
		told = append(told, match[1])
	}
	slices.Sort(given)
	slices.Sort(told)
	if !slices.Equal(given, told) {
		t.Errorf("the reasons are\n%v\nand docs/admission.md has\n%v", given, told)
	}
}
