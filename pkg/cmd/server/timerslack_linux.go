// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setTimerSlack sets the timer slack of all threads. Threads that begin later have that of the thread that begins
// them. A program with cgo cannot do this and gets ENOTSUP.
func setTimerSlack(slack time.Duration) error {
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, uintptr(slack.Nanoseconds()), 0); errno != 0 {
		return errno
	}
	return nil
}
