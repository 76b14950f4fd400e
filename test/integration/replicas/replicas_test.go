// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"syscall"
	"testing"
	"time"
)

const (
	// handOver is how long the controllers of a replica that stops may be without one.
	handOver = 2 * time.Second
	// takeOver is how long those of a replica that dies may be.
	takeOver = 15 * time.Second
	// newcomerShare is how long a replica that starts may take until it runs its share.
	newcomerShare = 7 * time.Second
	// frozen is how long a replica is stopped. Others have taken over long before that.
	frozen = 20 * time.Second
)

func TestControllersAreSharedAmongTheReplicasThatLive(t *testing.T) {
	f := newFleet(t, 2)
	f.run(t, 12, 2)
	f.waitForEven(f.replicas...)

	newcomer := f.start()
	t.Logf("with a newcomer, the controllers were shared evenly after %s", f.waitForEven(f.replicas...))
	f.edit("1")
	f.waitForEdit("1")
	f.checkWriters()

	began := time.Now()
	f.terminate(newcomer)
	took := f.waitUntilRunning(f.replicas[:2]...)
	t.Logf("the controllers of a replica that ended ran again after %s", took)
	if took > handOver {
		t.Errorf("%s passed since %s until others ran the controllers of a replica that ended, want at most %s", took, began, handOver)
	}
	f.edit("2")
	f.waitForEdit("2")
	f.checkWriters()
}

func TestTheControllersOfADeadReplicaAreTakenOver(t *testing.T) {
	f := newFleet(t, 3)
	f.run(t, 12, 2)
	f.waitForEven(f.replicas...)

	f.kill(f.replicas[1])
	f.edit("1")
	took := f.waitUntilRunning(f.replicas[0], f.replicas[2])
	t.Logf("the controllers of a dead replica ran again after %s", took)
	if took > takeOver {
		t.Errorf("others ran the controllers of a dead replica after %s, want at most %s", took, takeOver)
	}
	f.waitForEdit("1")
	f.waitForEven(f.replicas[0], f.replicas[2])
	f.checkWriters()
}

// A replica that was stopped does not know it when it goes on: its clock stood still with it.
func TestAReplicaThatWasStoppedWritesNothingMore(t *testing.T) {
	f := newFleet(t, 2)
	f.run(t, 12, 2)
	f.waitForEven(f.replicas...)

	f.signal(f.replicas[1], syscall.SIGSTOP)
	stopped := time.Now()
	f.edit("1") // also for the replica that cannot see it
	took := f.waitUntilRunning(f.replicas[0])
	t.Logf("the controllers of a replica that was stopped ran again after %s", took)
	if took > takeOver {
		t.Errorf("another one ran the controllers of a replica that was stopped after %s, want at most %s", took, takeOver)
	}
	f.waitForEdit("1")
	<-time.After(time.Until(stopped.Add(frozen)))
	f.edit("2") // which both see
	f.signal(f.replicas[1], syscall.SIGCONT)
	f.waitForEdit("2")
	f.waitForEven(f.replicas...) // under another name
	f.edit("3")
	f.waitForEdit("3")
	f.checkCalls("2")
	f.checkWriters()
}
