// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The servers of releases have no cgo. `make test` runs this test in both ways.
func TestTheSlackIsThatOfAllThreads(t *testing.T) {
	const threads = 4
	slacks := make(chan time.Duration, threads)
	set := make(chan struct{})
	var ready sync.WaitGroup
	for range threads {
		ready.Add(1)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			ready.Done()
			<-set
			slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
			if err != nil {
				t.Error(err)
			}
			slacks <- time.Duration(slack)
		}()
	}
	ready.Wait()
	const want = 50 * time.Microsecond // Linux's own
	err := setTimerSlack(want + 1)
	close(set)
	defer func() { _ = setTimerSlack(want) }()
	for range threads {
		switch slack := <-slacks; {
		case errors.Is(err, syscall.ENOTSUP) && slack == want: // a program with cgo
		case err == nil && slack == want+1:
		default:
			t.Errorf("after %v, the slack of a thread is %v", err, slack)
		}
	}
}
