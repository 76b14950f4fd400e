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

// processorsBeforeRest is GOMAXPROCS before the last rest; zero before the first.
var processorsBeforeRest int

// setAtRest lets the process wake seldom, or ends that. The libraries of the server have some thirty timers a second, each of which would
// wake the process, and its scheduler with it.
//
// At rest, Go runs on one processor. On several, its scheduler sleeps for microseconds before it takes work from another
// processor. With the slack, these would be up to 200 ms, in which it cannot be stopped to be woken.
//
// A program with cgo cannot set the slack of all its threads, and gets ENOTSUP.
func setAtRest(rest bool) error {
	if rest {
		processorsBeforeRest = runtime.GOMAXPROCS(1)
		err := setTimerSlack(slackAtRest)
		if err != nil {
			restoreProcessors()
		}
		return err
	}
	err := setTimerSlack(slackAtWork)
	restoreProcessors()
	return err
}

func restoreProcessors() {
	if processorsBeforeRest == 0 {
		return
	}
	if _, chosen := os.LookupEnv("GOMAXPROCS"); chosen {
		runtime.GOMAXPROCS(processorsBeforeRest)
	} else {
		runtime.SetDefaultGOMAXPROCS() // and follow the limits of the container again
	}
}

// setTimerSlack sets the timer slack of all threads. Threads that begin later have that of the thread that begins them.
func setTimerSlack(slack time.Duration) error {
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, uintptr(slack.Nanoseconds()), 0); errno != 0 {
		return fmt.Errorf("set the timer slack: %w", errno)
	}
	return nil
}
