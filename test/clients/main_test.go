// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

var env *harness.Env

func TestMain(m *testing.M) {
	// The libraries of the tools log what they try again.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	log.SetLogger(logr.Discard())
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}

// tool is the path of a program that the go.mod of a folder names as a tool. It is built once.
func tool(t *testing.T, folder, name string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "tool", "-n", name)
	command.Dir = filepath.Join(hostcluster.RepositoryRoot(), folder)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("build %s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}
