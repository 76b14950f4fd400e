// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// hooks are what stands for <hook> in names of metrics.
var hooks = regexp.MustCompile(`_(sync|finalize|customize)_`)

// hasEachMetric checks that each of our metrics that a running server shows is in the documentation.
func hasEachMetric(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := metricsOfARunningController(t)
	for name := range names {
		if !namesMetric(string(page), name) {
			t.Errorf("docs/operations.md does not have the metric %s", name)
		}
	}
	if len(names) < 10 {
		t.Errorf("only %d metrics are shown", len(names))
	}
}

// namesMetric reports whether page has the metric name: whole, with <hook> for the name of a hook, or, in the row of
// another metric, only what follows <hook>: `metacontroller_<hook>_dns_...`, `_tls_...`.
func namesMetric(page, name string) bool {
	general := hooks.ReplaceAllString(name, "_<hook>_")
	_, end, isOfHook := strings.Cut(general, "<hook>")
	return strings.Contains(page, "`"+name) || strings.Contains(page, "`"+general) ||
		isOfHook && strings.Contains(page, "`"+end+"`")
}

// metricsOfARunningController returns the names of all metrics of ours while a controller runs and has called its
// hook.
func metricsOfARunningController(t *testing.T) map[string]bool {
	t.Helper()
	page, reader := read(t, "docs/operations.md"), readerIn(t, "")
	anotherPort(t, reader, "8080")
	reader.Folder = checkout(t, reader)
	var hidden []*manual.Block // what the section about pausing begins and ends with
	for _, block := range page.Blocks {
		if strings.Contains(block.Text, "artifacts/examples/helloworld") {
			hidden = append(hidden, block)
		}
	}
	if len(hidden) != 2 {
		t.Fatalf("docs/operations.md has %d blocks about helloworld, want 2", len(hidden))
	}
	reader.Do(t, page, hidden[0])
	families, err := env.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reader.Do(t, page, hidden[1])
	names := map[string]bool{}
	for name := range families {
		if strings.HasPrefix(name, "metacontroller_") {
			names[name] = true
		}
	}
	return names
}
