// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import "syscall"

// There is no parent death signal here: a parent that is killed leaves its children behind.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
