// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// handOver is how long it may take until another replica leads after the leader has been told to stop, and
	// takeOver is how long after it has died.
	handOver = 8 * time.Second
	takeOver = 20 * time.Second
	// stopped is how long a replica is stopped.
	stopped = 20 * time.Second
	// outage is how long etcd is away. The kubelet would restart the servers after a minute, if they failed its
	// probe.
	outage = 90 * time.Second
)

// The steps build on one another: each begins with the leader that the one before it has left.
func TestOneOfThreeServersRunsTheControllers(t *testing.T) {
	const parents = 2
	f := newFleet(t, 3)
	f.run(t, 4, parents)
	first, _ := f.waitForLeader()
	leaders := []*replica{first}
	next := func(value string, within time.Duration) {
		t.Helper()
		former := leaders[len(leaders)-1]
		found, took := f.waitForLeader(former)
		t.Logf("another replica leads after %s", took)
		if took > within {
			t.Errorf("another replica leads after %s, want at most %s", took, within)
		}
		leaders = append(leaders, found)
		env.Register(t, found.port) // the former one may have ended
		f.waitForEdit(value)
	}
	for _, one := range f.replicas {
		f.expectAnswersOfTheLeader(one, parents)
	}

	f.terminate(first)
	f.edit("1")
	next("1", handOver)
	f.start()

	second := leaders[1]
	f.kill(second)
	f.edit("2")
	for _, one := range f.replicas {
		if !one.isEnding {
			f.expectNoLeader(one)
		}
	}
	next("2", takeOver)
	f.start()

	third := leaders[2]
	since := time.Now()
	f.signal(third, syscall.SIGSTOP)
	f.edit("3")
	next("3", takeOver)
	<-time.After(time.Until(since.Add(stopped)))
	f.edit("4") // which both see
	f.signal(third, syscall.SIGCONT)
	f.waitForEdit("4")
	f.eventually(func(ctx context.Context) error { return f.ready(ctx, third) })
	f.expectAnswersOfTheLeader(third, parents)

	f.expectOutageOfEtcdSurvived(leaders[3])
	f.expectWriters(leaders...)
}

// expectNoLeader checks what a replica answers while none leads.
func (f *fleet) expectNoLeader(from *replica) {
	f.Helper()
	f.eventually(func(ctx context.Context) error {
		status, header, err := f.get(ctx, from, "/apis/metacontroller.k8s.io/v1alpha1/syncs")
		if err != nil {
			return err
		}
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
			return fmt.Errorf("%d is answered, with %v", status, header)
		}
		return nil
	})
}

// expectOutageOfEtcdSurvived takes all members of etcd away. The controllers go on, nobody restarts the servers, and
// nothing is listed again.
func (f *fleet) expectOutageOfEtcdSurvived(leads *replica) {
	f.Helper()
	from := env.AuditEnd(f)
	for member := range f.etcd.members {
		f.etcd.kill(member)
	}
	since := time.Now()
	ctx, cancel := context.WithCancel(f.Context())
	var probing sync.WaitGroup
	for _, one := range f.replicas {
		if one.isEnding {
			continue
		}
		probing.Go(func() {
			for ; ctx.Err() == nil; <-time.After(time.Second) {
				status, _, err := f.get(f.Context(), one, "/livez?exclude=etcd")
				if err != nil || status != http.StatusOK {
					f.Errorf("%s after the outage began, %s fails the probe of liveness: %v", time.Since(since), one.name, err)
				}
			}
		})
	}
	f.edit("5")
	f.waitForEdit("5")
	<-time.After(time.Until(since.Add(outage)))
	if err := f.ready(f.Context(), leads); err == nil {
		f.Error("the leader is ready without etcd")
	}
	f.edit("6")
	f.waitForEdit("6")
	for member := range f.etcd.members {
		f.etcd.start(member)
	}
	f.eventually(f.write)
	f.eventually(func(ctx context.Context) error { return f.ready(ctx, leads) })
	cancel()
	probing.Wait()
	if now, err := f.leader(f.Context(), f.leaseName); err != nil || now != leads {
		f.Errorf("another one leads after the outage: %v", err)
	}
	if lists := f.lists(from); len(lists) > 0 {
		f.Errorf("the parents were listed again: %v", lists)
	}
}

// ready returns an error unless a replica is ready.
func (f *fleet) ready(ctx context.Context, one *replica) error {
	status, _, err := f.get(ctx, one, "/readyz")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d", one.name, status)
	}
	return err
}

// write changes a controller.
func (f *fleet) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := env.Host.RunKubectl(ctx, "annotate", "--overwrite", "compositecontroller", f.fixtures[0].Controller.Name,
		"at="+time.Now().Format(time.RFC3339Nano))
	return err
}
