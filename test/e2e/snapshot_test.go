// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

const snapshots = "-f artifacts/deploy/components/snapshots/rbac.yaml -f artifacts/deploy/components/snapshots/volume.yaml " +
	"-f artifacts/deploy/components/snapshots/cronjob.yaml"

var savedAs = regexp.MustCompile(`Saved /snapshots/(metacontroller-\S+\.db\.gz):`)

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

	commands := regexp.MustCompile(`metacontroller-\d\S+\.db\.gz`).ReplaceAllString(restoring(t), file[1])
	if !strings.Contains(commands, file[1]) {
		t.Fatalf("the page does not restore a snapshot: %s", commands)
	}
	shell(t, root(), commands)
	run(t, available)

	run(t, "kubectl -n metacontroller delete job save")
	run(t, "kubectl delete %s --timeout=60s", snapshots)
}

// restoring returns the commands of docs/operations.md that restore a snapshot.
func restoring(t *testing.T) string {
	t.Helper()
	page, err := manual.Read("docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range page.Blocks {
		if strings.Contains(block.Text, "[snapshot, restore, ") {
			return block.Text
		}
	}
	t.Fatal("the page does not say how to restore")
	return ""
}
