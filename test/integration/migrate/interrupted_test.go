// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// killAfter does a step, and kills it after so many lines. It reports whether the step ended before by itself.
func (w *world) killAfter(lines int, step string) (ended bool) {
	w.Helper()
	command := w.command(step)
	out, err := command.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Start(); err != nil {
		w.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	last := ""
	for range lines {
		if !scanner.Scan() {
			if err := command.Wait(); err != nil {
				w.Fatalf("migrate %s: %v\n%s", step, err, said.String())
			}
			return true
		}
		last = scanner.Text()
	}
	w.kill(command.Process.Kill)
	_, _ = io.Copy(io.Discard, out)
	_ = command.Wait()
	w.Logf("migrate %s was killed after %q", step, last)
	return false
}

// killWithin does a step, and kills it after a time. It reports whether the step ended before by itself.
func (w *world) killWithin(period time.Duration, step string) (ended bool) {
	w.Helper()
	command := w.command(step)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		w.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			w.Fatalf("migrate %s: %v\n%s", step, err, said.String())
		}
		return true
	case <-time.After(period):
		w.kill(command.Process.Kill)
		w.Logf("migrate %s was killed after %s: %v", step, period, <-done)
		return false
	}
}

func (w *world) kill(kill func() error) {
	w.Helper()
	if err := kill(); err != nil {
		w.Fatal(err)
	}
}

// expectSurvived fails the test if something is not there any more, or another one.
func (e *estate) expectSurvived(before map[string]types.UID, after string) {
	e.Helper()
	e.waitUntilCollected()
	now := e.census()
	for name, uid := range before {
		if now[name] != uid {
			e.Errorf("after %s, %s is %q and not %s any more", after, name, now[name], uid)
		}
	}
}

// A step that was killed at any point is done again, and ends as if it had not been.
func TestStepsThatAreKilledEndTheSame(t *testing.T) {
	const parents = 2
	w := newWorld(t)
	e, _ := newEstate(w, shapesOf(16))
	e.leave(parents)
	before, from := e.census(), env.AuditEnd(t)
	for i, step := range []string{"copy", "switch", "run", "back", "switch", "run", "check", "finish"} {
		if !inFull() && i > 3 && step != "finish" { // check changes nothing, and the others were interrupted before
			w.migrate(step)
			continue
		}
		for lines := 1; !w.killAfter(lines, step); lines++ {
		}
		e.expectSurvived(before, step)
	}
	w.expectPhase("Finished")
	e.expectNoChildWrites(from)
}

func TestStepsThatAreKilledAtAnyTimeEndTheSame(t *testing.T) {
	const parents = 2
	w := newWorld(t)
	e, _ := newEstate(w, shapesOf(16))
	e.leave(parents)
	before, from := e.census(), env.AuditEnd(t)
	steps, between, phase := []string{"switch", "back"}, time.Second, "Original"
	if inFull() {
		steps, between, phase = []string{"switch", "back", "switch", "run"}, 150*time.Millisecond, "Running"
	}
	for _, step := range steps {
		for period := 100 * time.Millisecond; !w.killWithin(period, step); period += between {
		}
		e.expectSurvived(before, step)
	}
	w.expectPhase(phase)
	e.expectNoChildWrites(from)
}

// expectPhase fails the test unless the cluster shows that the migration is that far.
func (w *world) expectPhase(phase string) {
	w.Helper()
	is := map[string]string{
		"Finished": "There are no CustomResourceDefinitions", "Running": "and its controllers run. The CustomResourceDefinitions still",
		"Held": "its controllers are held", "Original": "Nothing was copied",
	}[phase]
	if said := w.migrate("status"); is == "" || !strings.Contains(said, is) {
		w.Errorf("the status is not %s, but\n%s", phase, said)
	}
}

// The host's kube-apiserver ends and comes back in the middle of each step.
func TestTheHostRestartsInTheMiddle(t *testing.T) {
	const parents = 2
	w := newWorld(t)
	e, _ := newEstate(w, shapesOf(16))
	e.leave(parents)
	before, from := e.census(), env.AuditEnd(t)
	steps, phase := []string{"back", "switch"}, "Held"
	if inFull() {
		steps, phase = []string{"switch", "back", "switch", "run", "finish"}, "Finished"
	} else {
		w.migrate("switch")
	}
	for _, step := range steps {
		command := w.command(step)
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		if scanner := bufio.NewScanner(out); scanner.Scan() {
			t.Logf("kube-apiserver is restarted after migrate %s says %q", step, scanner.Text())
		}
		if err := env.Host.RestartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, out)
		t.Logf("migrate %s ends with %v", step, command.Wait())
		w.migrate(step)
		e.expectSurvived(before, step)
	}
	w.expectPhase(phase)
	e.expectNoChildWrites(from)
	// A kube-apiserver that has started since has read the API of the server.
	if said := w.migrate("status"); inFull() && strings.Contains(said, "do not show the server's API") {
		t.Errorf("the OpenAPI documents are old: %s", said)
	}
}
