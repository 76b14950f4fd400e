// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestASaveThatIsEndedLeavesNothing(t *testing.T) {
	content := newSnapshot(t)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, ended := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(ended.String(), func(t *testing.T) {
			// The process of the tests outlives the signal, whatever the command does about it.
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, ended)
			defer signal.Stop(signals)
			kubeconfig := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = w.Write(content[:len(content)/2])
				_ = http.NewResponseController(w).Flush()
				_ = self.Signal(ended)
				select {
				case <-r.Context().Done(): // the command has hung up
				case <-time.After(10 * time.Second):
				}
			})
			dir := t.TempDir()
			_, _, err := run(t, "save", "--kubeconfig="+kubeconfig, "--directory="+dir)
			want := ": " + ended.String() + " signal received"
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("the error is %v, want %q at its end", err, want)
			}
			if left := list(t, dir); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}
