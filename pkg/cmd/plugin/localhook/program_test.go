// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package localhook

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// answering is a program of the shell that starts another one, which answers on $PORT, and writes the process of that
// into a file.
const answering = `python3 -u -c '
import http.server, os, sys
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print("called", flush=True)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")
open("pid", "w").write(str(os.getpid()))
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Hook).serve_forever()
' & wait`

func TestAProgramIsStartedAndEndsWithAllThatItHasStarted(t *testing.T) {
	folder := t.TempDir()
	program, err := Start(t.Context(), answering, folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := program.Call(t.Context(), &v1alpha1.Webhook{URL: ptr.To("http://hooks/sync")}, nil); err != nil {
		t.Error(err)
	}
	raw, err := os.ReadFile(filepath.Join(folder, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if output := program.Output(); !strings.HasPrefix(output, "called") {
		t.Errorf("it printed %q", output)
	}
	program.Stop()
	if _, err := os.Stat(program.output.Name()); !os.IsNotExist(err) {
		t.Errorf("its output is still there: %v", err)
	}
	pid, err := strconv.Atoi(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	// The system takes a moment to end a process that has been told to.
	err = wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		stat, err := os.ReadFile(filepath.Join("/proc", string(raw), "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) != nil, nil
	})
	if err != nil {
		t.Errorf("what the program has started still runs: %v", err)
	}
}

func TestAProgramThatEndsIsAnErrorWithWhatItPrinted(t *testing.T) {
	_, err := Start(t.Context(), "echo oh no >&2; exit 3", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "the program has ended") || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("the error is %v", err)
	}
}

// What is printed is returned once, so that it belongs to what was called before.
func TestOnlyTheEndOfLongOutputIsReturnedAndOnce(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	program := &Program{output: file}
	for _, printed := range []string{strings.Repeat("x", 100_000) + "end\n", "more\n"} {
		if _, err := file.WriteString(printed); err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSpace(printed[max(0, len(printed)-maxOutput):])
		if output := program.Output(); output != want {
			t.Errorf("returned are %d bytes, want %d", len(output), len(want))
		}
	}
	if output := program.Output(); output != "" {
		t.Errorf("returned again is %q", output)
	}
}

// /dev/stderr is the file itself, so who opens it for writing empties it.
func TestAProgramThatOpensItsOutputIsHeard(t *testing.T) {
	program, err := Start(t.Context(), `printf '%0500d\n' 1; `+answering, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer program.Stop()
	if output := program.Output(); len(output) != 500 {
		t.Errorf("it printed %q", output)
	}
	if err := os.Truncate(program.output.Name(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := program.Call(t.Context(), &v1alpha1.Webhook{URL: ptr.To("http://hooks/sync")}, nil); err != nil {
		t.Error(err)
	}
	if output := program.Output(); !strings.HasPrefix(output, "called") {
		t.Errorf("it printed %q", output)
	}
}
