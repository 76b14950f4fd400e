// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

const parentRole = "PROCESS_TEST_IS_THE_PARENT"

// TestMain lets the test binary be the parent that is killed.
func TestMain(m *testing.M) {
	log := os.Getenv(parentRole)
	if log == "" {
		os.Exit(m.Run())
	}
	p, err := Start("child", log, exec.Command("sh", "-c", "echo $$; exec sleep 1000"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-p.Done()
}

func TestAChildDoesNotOutliveAParentThatIsKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	childLog := filepath.Join(t.TempDir(), "child")
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), parentRole+"="+childLog)
	parent, err := Start("parent", filepath.Join(t.TempDir(), "parent"), cmd)
	if err != nil {
		t.Fatal(err)
	}
	child := waitForLog(t, &Process{logPath: childLog}, "")
	if err := parent.cmd.Process.Kill(); err != nil { // only the parent, not its group
		t.Fatal(err)
	}
	waitUntilGone(t, child)
}

// waitForLog waits until the log ends with a text, any if that is empty, and returns its last line.
func waitForLog(t *testing.T, p *Process, text string) string {
	t.Helper()
	var last string
	err := poll.Within(t.Context(), 30*time.Second, func(context.Context) error {
		last = Tail(p.logPath, 1)
		if info, err := os.Stat(p.logPath); err != nil || info.Size() == 0 || !strings.Contains(last, text) {
			return fmt.Errorf("the log ends with %q, want %q", last, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// waitUntilGone waits until a process has ended. A zombie counts as ended.
func waitUntilGone(t *testing.T, pid string) {
	t.Helper()
	if _, err := strconv.Atoi(pid); err != nil {
		t.Fatalf("%q is no process id", pid)
	}
	err := poll.Within(t.Context(), 30*time.Second, func(context.Context) error {
		status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
		if errors.Is(err, os.ErrNotExist) || strings.Contains(string(status), "State:\tZ") {
			return nil
		}
		return fmt.Errorf("process %s is still there", pid)
	})
	if err != nil {
		t.Fatal(err)
	}
}
