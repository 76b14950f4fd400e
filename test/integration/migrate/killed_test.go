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
	if signal == os.Interrupt && err == nil && !strings.Contains(said.String(), "the cluster rejects writes to the API "+
		"until") {
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
func TestStepsThatAreKilled(t *testing.T) {
	for killed, opposite := range map[string]string{"switch": "back", "back": "switch"} {
		t.Run(killed, func(t *testing.T) {
			w := newWorld(t)
			e, _ := newEstate(w, shapesOf(8)[3:7])
			e.leave(1)
			w.installOriginal(1)
			before, from := e.census(), env.AuditEnd(t)
			if killed == "back" {
				w.migrate("switch")
			}
			for lines := 1; !w.killAfter(lines, killed, signalAfter(lines)); lines++ {
				if lines%2 == 0 {
					w.migrate(opposite)
					e.expectSurvived(before, opposite)
				}
			}
			e.expectSurvived(before, killed)
			w.waitForOriginal(killed == "back")
			e.expectNoChildWrites(from)
			if said := w.migrate(""); strings.Contains(said, "not complete") {
				t.Error("the step is not complete")
			}
		})
	}
}
