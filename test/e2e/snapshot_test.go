// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const snapshots = "-f artifacts/deploy/components/snapshots/rbac.yaml -f artifacts/deploy/components/snapshots/volume.yaml " +
	"-f artifacts/deploy/components/snapshots/cronjob.yaml"

var savedAs = regexp.MustCompile(`Saved /snapshots/(metacontroller-\S+\.db):`)

// restoreSnapshot saves a snapshot as the CronJob does it, and restores it as docs/operations.md says.
func restoreSnapshot(t *testing.T) {
	run(t, "kubectl apply %s", snapshots)
	run(t, "kubectl -n metacontroller create job save --from=cronjob/metacontroller-apiserver-snapshots")
	run(t, "kubectl -n metacontroller wait --for=condition=Complete job/save --timeout=120s")
	said := run(t, "kubectl -n metacontroller logs job/save")
	file := savedAs.FindStringSubmatch(said)
	if file == nil {
		t.Fatalf("the job says %q", said)
	}
	run(t, "kubectl label cc immortalcontainer after=snapshot")

	restoring := blockAfter(t, "operations.md", "**To restore**")
	restoring = regexp.MustCompile(`metacontroller-\d\S+\.db`).ReplaceAllString(restoring, file[1])
	if !strings.Contains(restoring, file[1]) {
		t.Fatalf("the page does not say how to restore: %s", restoring)
	}
	shell(t, root(), restoring)
	run(t, available)

	run(t, "kubectl -n metacontroller delete job save")
	run(t, "kubectl delete %s --timeout=60s", snapshots)
}

// blockAfter returns the commands of a page that are indented after a text, without the indentation.
func blockAfter(t *testing.T, page, text string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(), "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(content), text)
	if !found {
		t.Fatalf("%s does not say %q", page, text)
	}
	var block []string
	for line := range strings.Lines(rest) {
		command, isIndented := strings.CutPrefix(line, "    ")
		if isIndented || strings.TrimSpace(line) == "" && len(block) > 0 {
			block = append(block, command)
		} else if len(block) > 0 {
			break
		}
	}
	return strings.Join(block, "")
}
