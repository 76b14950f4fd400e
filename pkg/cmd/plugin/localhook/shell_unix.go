// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package localhook

import (
	"os/exec"
	"syscall"
)

// shell returns a command that the shell runs, in a process group of its own.
func shell(command string) *exec.Cmd {
	run := exec.Command("sh", "-c", command)
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return run
}

// terminate asks the processes of a command to end.
func terminate(run *exec.Cmd) { _ = syscall.Kill(-run.Process.Pid, syscall.SIGTERM) }

// kill ends the processes of a command.
func kill(run *exec.Cmd) { _ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
