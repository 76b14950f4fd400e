// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func startShell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start("script", filepath.Join(t.TempDir(), "log"), exec.Command("sh", "-c", script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestExitedTellsTheEndAndItsLog(t *testing.T) {
	p := startShell(t, "echo no such flag; exit 3")
	<-p.Done()
	err := p.Exited()
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("got %v, want the exit status and the last lines", err)
	}
}

func TestStopGivesTheProcessTimeToEnd(t *testing.T) {
	p := startShell(t, `trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.01; done`)
	waitForLog(t, p, "ready")
	if err := p.Stop(time.Minute); err != nil {
		t.Errorf("got %v, want a process that ended by itself", err)
	}
	waitForLog(t, p, "bye")
}

func TestStopKillsAProcessThatStays(t *testing.T) {
	p := startShell(t, `trap "" TERM; echo ready; while :; do sleep 0.01; done`)
	waitForLog(t, p, "ready")
	if err := p.Stop(10 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("got %v, want an error that says it was killed", err)
	}
	if p.Exited() == nil {
		t.Error("the process still runs")
	}
}

func TestKillReachesWhatTheProcessStarted(t *testing.T) {
	p := startShell(t, "sleep 1000 & echo $!; wait")
	child := waitForLog(t, p, "")
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	waitUntilGone(t, child)
}
