// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
