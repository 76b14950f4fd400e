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
	var given, told []string
	const reason = `(?m)^\tReason\w+ += "(\w+)"$`
	for file, reasons := range map[string]string{
		"apis/metacontroller/v1alpha1/conditions.go": reason,
	} {
		source, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "pkg", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(reasons).FindAllSubmatch(source, -1) {
			given = append(given, string(match[1]))
		}
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
