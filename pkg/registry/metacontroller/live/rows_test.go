// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// loop is what controllers have in memory. It counts who follows it.
type loop struct {
	mu       sync.Mutex
	follows  int
	followed int
	err      error
}

func (l *loop) follow(ctx context.Context, tell func([]*corev1.Pod, []types.NamespacedName) error) error {
	l.count(1)
	defer l.count(-1)
	if l.err != nil {
		return l.err
	}
	return followOf(pod("a"))(ctx, tell)
}

func (l *loop) count(by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follows += by
	if by > 0 {
		l.followed++
	}
}

func (l *loop) counts() (follows, followed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.follows, l.followed
}

func TestRowsAreKeptWhileSomebodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := &loop{}
		rows := podRows(of.follow)
		if _, _, err := rows.open(t.Context()); !errors.Is(err, errEnded) {
			t.Errorf("before they are kept, the error is %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { rows.Run(ctx) })
		synctest.Wait()
		open := func() func() {
			store, closeSession, err := rows.open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, found := store.Get(types.NamespacedName{Namespace: "ns", Name: "a"}); !found {
				t.Error("the store has no row")
			}
			return closeSession
		}
		expect := func(when string, follows, followed int) {
			t.Helper()
			synctest.Wait()
			if now, ever := of.counts(); now != follows || ever != followed {
				t.Errorf("%s, %d follow and %d have followed, want %d and %d", when, now, ever, follows, followed)
			}
		}
		expect("before somebody looks", 0, 0)
		first, second := open(), open()
		first()
		first()
		<-time.After(2 * linger)
		expect("while one looks", 1, 1)
		second()
		<-time.After(linger / 2)
		open()()
		<-time.After(linger * 3 / 4)
		expect("soon after the last one has looked", 1, 1)
		<-time.After(linger)
		expect("long after the last one has looked", 0, 1)
		third := open()
		expect("when somebody looks again", 1, 2)
		cancel()
		running.Wait()
		third()
		expect("after the end", 0, 2)
		if _, _, err := rows.open(t.Context()); !errors.Is(err, errEnded) {
			t.Errorf("after the end, the error is %v", err)
		}
	})
}

func TestWhyThereAreNoRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := &loop{err: errors.New("the controllers do not run")}
		rows := podRows(of.follow)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { rows.Run(ctx) })
		defer running.Wait()
		defer cancel()
		synctest.Wait()
		for range 3 {
			if _, _, err := rows.open(t.Context()); !errors.Is(err, of.err) {
				t.Errorf("the error is %v", err)
			}
		}
	})
}
