// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The timer slack is how late the kernel may end a thread's sleep, so that one wake-up serves several timers.
const (
	// slackAtWork spares most of the short sleeps of Go's scheduler. Linux has 50 µs by default.
	slackAtWork = time.Millisecond
	slackAtRest = 200 * time.Millisecond
)

// processorsBeforeRest is the value of GOMAXPROCS before the last rest; zero before the first rest.
var processorsBeforeRest int

// setAtRest begins or ends a rest of the process. It must not be called concurrently.
//
// The libraries of the server have some thirty timers a second. Each of them wakes the process, and Go's scheduler
// with it. A timer slack lets the kernel wake the process for several of them at once.
//
// A process at rest uses one processor, so that its rest can be ended at once. On several processors, a thread of
// Go's scheduler sleeps for 3 µs before it takes work from another processor. With the slack of a rest, that
// sleep could take 200 ms, and Go could not stop that thread to end the rest.
//
// A program with cgo cannot set the slack of all its threads, and gets ENOTSUP.
func setAtRest(rest bool) error {
	if rest {
		processorsBeforeRest = runtime.GOMAXPROCS(1)
		return setTimerSlack(slackAtRest)
	}
	err := setTimerSlack(slackAtWork)
	restoreProcessors()
	return err
}

// restoreProcessors makes Go use as many processors as before the last rest.
func restoreProcessors() {
	if processorsBeforeRest == 0 {
		return
	}
	if _, chosen := os.LookupEnv("GOMAXPROCS"); chosen {
		runtime.GOMAXPROCS(processorsBeforeRest)
	} else {
		runtime.SetDefaultGOMAXPROCS() // which follows the limits of the container, unlike a number
	}
}

// setTimerSlack sets the timer slack of all threads. Threads that begin later have that of the thread that begins them.
func setTimerSlack(slack time.Duration) error {
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, uintptr(slack.Nanoseconds()), 0); errno != 0 {
		return fmt.Errorf("set the timer slack: %w", errno)
	}
	return nil
}
