// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package localhook

import (
	"os/exec"
	"strconv"
)

// shell returns a command that the command interpreter runs.
func shell(command string) *exec.Cmd { return exec.Command("cmd", "/C", command) }

// terminate ends the processes of a command: nothing can ask them to.
func terminate(run *exec.Cmd) { kill(run) }

// kill ends the processes of a command.
func kill(run *exec.Cmd) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(run.Process.Pid)).Run()
}
