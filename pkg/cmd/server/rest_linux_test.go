// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !cgo

package server

import (
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// These tests need a build without cgo, and the race detector needs cgo. So `make test` runs them by themselves.

func TestRestLetsAllThreadsSleepLongerOnOneProcessor(t *testing.T) {
	processors := runtime.GOMAXPROCS(0)
	check := func(slack time.Duration, used int) {
		t.Helper()
		for _, of := range slacksOfThreads(t) {
			if of != slack {
				t.Errorf("the slack of a thread is %v, want %v", of, slack)
			}
		}
		if got := runtime.GOMAXPROCS(0); got != used {
			t.Errorf("%d processors are used, want %d", got, used)
		}
	}
	if err := setAtRest(true); err != nil {
		t.Fatal(err)
	}
	check(slackAtRest, 1)
	if err := setAtRest(false); err != nil {
		t.Fatal(err)
	}
	check(slackAtWork, processors)
}

func TestRestKeepsTheChosenNumberOfProcessors(t *testing.T) {
	const chosen = 3
	t.Setenv("GOMAXPROCS", "3")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(chosen))
	for _, rest := range []bool{true, false} {
		if err := setAtRest(rest); err != nil {
			t.Fatal(err)
		}
	}
	if got := runtime.GOMAXPROCS(0); got != chosen {
		t.Errorf("%d processors are used after a rest, want %d", got, chosen)
	}
}

// slacksOfThreads returns the timer slack of some threads, as each says of itself.
func slacksOfThreads(t *testing.T) []time.Duration {
	t.Helper()
	slacks := make([]time.Duration, 4)
	var together, done sync.WaitGroup
	together.Add(len(slacks))
	for i := range slacks {
		done.Go(func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			together.Done()
			together.Wait() // so that each goroutine has a thread of its own
			slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
			if err != nil {
				t.Error(err)
			}
			slacks[i] = time.Duration(slack)
		})
	}
	done.Wait()
	return slacks
}

func TestRestEndsWithARequestAboutObjects(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	clients := newClientAuthority(t)
	p := startProcess(t, newDataDir(t), "--client-ca-file="+clients.file)
	client := p.client(t, clients.admin(t))
	answer := func(path string) string {
		t.Helper()
		body, _, err := get(t, client, p.url(path), http.StatusOK)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	processors := func(want string) error {
		if !strings.Contains(answer("/metrics"), "\ngo_sched_gomaxprocs_threads "+want+"\n") {
			return errors.New("the number of processors is not " + want)
		}
		return nil
	}
	eventually(t, func() error { return processors("1") })
	answer("/readyz")
	answer("/apis/metacontroller.k8s.io/v1alpha1")
	if err := processors("1"); err != nil {
		t.Errorf("after a probe and a discovery: %v", err)
	}
	answer("/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers")
	if err := processors("2"); err != nil {
		t.Errorf("after a list: %v", err)
	}
	eventually(t, func() error { return processors("1") })
}
