// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// killAfter does a step, and sends it a signal after so many lines that are not details. It reports whether the step
// ended before by itself.
func (w *world) killAfter(lines int, step string, signal os.Signal) (ended bool) {
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
	for lines > 0 {
		if !scanner.Scan() {
			if err := command.Wait(); err != nil {
				w.Fatalf("migrate %s: %v\n%s", step, err, said.String())
			}
			return true
		}
		if text := scanner.Text(); !strings.HasPrefix(text, " ") && !strings.HasSuffix(text, ":") {
			lines--
		}
	}
	if err := command.Process.Signal(signal); err != nil {
		w.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = command.Wait()
	w.Logf("migrate %s was ended by %s after %q: %s", step, signal, scanner.Text(), said.String())
	_, err = env.Dynamic.Resource(policies).Get(w.Context(), "metacontroller-apiserver-migration", metav1.GetOptions{})
	if signal == os.Interrupt && err == nil && !strings.Contains(said.String(), "may reject writes to the API") {
		w.Error("it does not say that writes are refused")
	}
	return false
}

// signalAfter interrupts every third time, and kills otherwise.
func signalAfter(lines int) os.Signal {
	if lines%3 == 0 {
		return os.Interrupt
	}
	return os.Kill
}

var policies = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
	Resource: "validatingadmissionpolicies"}

// A step that was killed at any point is done again, and ends as if it had not been, or is undone by the opposite one.
// The children are those of server-side apply.
func TestStepsThatAreKilled(t *testing.T) {
	const strategy, parents = "--apply-strategy=server-side-apply", 1
	w := newWorld(t, strategy)
	e, hooks := newEstate(w, shapesOf(8))
	e.serverSide = true
	e.leave(parents)
	w.installOriginal(1, strategy)
	before, from := e.census(), env.AuditEnd(t)
	for _, step := range []struct{ killed, opposite string }{{"switch", "back"}, {"back", "switch"}} {
		called := len(hooks.Calls())
		for lines := 1; !w.killAfter(lines, step.killed, signalAfter(lines)); lines++ {
			if lines%2 == 0 {
				w.migrate(step.opposite)
				e.expectSurvived(before, step.opposite)
			}
		}
		w.waitForOriginal(step.killed == "back")
		if step.killed == "switch" {
			e.waitUntilAllAreSynced(hooks, called, parents)
		}
		e.expectSurvived(before, step.killed)
		e.expectNoChildWrites(from)
		if said := w.migrate("check"); strings.Contains(said, "not complete") {
			t.Errorf("%s is not complete", step.killed)
		}
	}
}
