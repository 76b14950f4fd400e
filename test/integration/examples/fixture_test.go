// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// patience is the timeout of kubectl. Only failing tests use it up.
const patience = "--timeout=120s"

// withBothHooks runs a test of an example, first with the webhook and then with the inline hook.
func withBothHooks(t *testing.T, name, usualPort string, test func(t *testing.T, example string)) {
	t.Parallel()
	t.Run("webhook", func(t *testing.T) { test(t, startExample(t, name, usualPort)) })
	t.Run("inline", func(t *testing.T) {
		directory := directoryOf(name)
		createExample(t, directory, "controller-inline.yaml", read(t, directory, "controller-inline.yaml"))
		test(t, directory)
		file := filepath.Join(directory, "controller-inline.yaml")
		shown := env.Kubectl(t, "get", "-f", file, "-o", "yaml")
		if strings.Contains(shown, v1alpha1.ReasonSchemaMismatch) {
			t.Errorf("the hook does not fit the schemas: %s", shown)
		}
	})
}

func directoryOf(example string) string {
	return filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "examples", example)
}

// startExample runs the hook of an example and creates its types and controllers. The controllers
// of the manifests call the hook at the usual port, which is replaced.
func startExample(t *testing.T, name, usualPort string) (directory string) {
	t.Helper()
	directory = directoryOf(name)
	port := startHook(t, directory)
	controllers := strings.ReplaceAll(read(t, directory, "controller.yaml"), "127.0.0.1:"+usualPort, "127.0.0.1:"+port)
	createExample(t, directory, "controller.yaml", controllers)
	return directory
}

// createExample creates the types of an example and the controllers of one of its files, whose text may
// be changed. All is deleted when the test ends.
func createExample(t *testing.T, directory, file, controllers string) {
	t.Helper()
	file, crd := filepath.Join(directory, file), filepath.Join(directory, "crd.yaml")
	hasTypes := exists(crd)
	if hasTypes {
		env.Kubectl(t, "apply", "-f", crd)
		env.WaitUntilEstablished(t, "-f", crd)
	}
	if said := env.Apply(t, controllers); strings.Contains(said, "spec.hooks") {
		t.Errorf("there are warnings about the hooks: %s", said)
	}
	t.Cleanup(func() {
		takeAway := env.Host.KubectlCommand(context.WithoutCancel(t.Context()), "delete", "-f", file)
		if hasTypes {
			takeAway.Args = append(takeAway.Args, "-f", crd)
		}
		if out, err := takeAway.CombinedOutput(); err != nil {
			t.Errorf("take the example away: %v\n%s", err, out)
		}
	})
	env.Kubectl(t, "wait", "--for=condition=Ready", "-f", file, patience)
}

// startHook runs the hook of an example with the interpreter that it needs.
func startHook(t *testing.T, directory string) (port string) {
	t.Helper()
	file := filepath.Join(directory, "hook.js")
	if exists(file) {
		return startServer(t, file, "node")
	}
	if file := filepath.Join(directory, "hook.go"); exists(file) {
		return startProgram(t, buildGo(t, file))
	}
	return startPython(t, filepath.Join(directory, "hook.py"))
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// buildGo builds a program of one file, and returns its path.
func buildGo(t *testing.T, file string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "hook")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", file, err, out)
	}
	return program
}

func startPython(t *testing.T, file string) (port string) {
	t.Helper()
	return startServer(t, file, "python3", "-B")
}

// startServer runs a server that takes the port as its argument, and returns the port once the
// server prints that it listens.
func startServer(t *testing.T, file string, interpreter ...string) (port string) {
	t.Helper()
	return startProgram(t, append(interpreter, file)...)
}

// startProgram is startServer with the command to which the port is added.
func startProgram(t *testing.T, command ...string) (port string) {
	t.Helper()
	free, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	port = strconv.Itoa(free)
	name := filepath.Base(command[len(command)-1])
	log := filepath.Join(t.TempDir(), name+".log")
	server, err := process.Start(name, log, exec.Command(command[0], append(command[1:], port)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
	})
	env.Eventually(t, func(context.Context) error {
		if err := server.Exited(); err != nil {
			t.Fatal(err)
		}
		if said := process.Tail(log, 1); !strings.Contains(said, "listens") {
			return fmt.Errorf("%s says %q", name, said)
		}
		return nil
	})
	return port
}

// waitFor waits until a field of an object, as jsonpath prints it, has a value. The value is empty
// while the object is missing or being deleted.
func waitFor(t *testing.T, namespace, object, field, want string) {
	t.Helper()
	env.Eventually(t, func(ctx context.Context) error {
		const alive = "{.metadata.deletionTimestamp}|"
		printed, err := env.Host.RunKubectl(ctx, "get", object, "-n", namespace, "--ignore-not-found", "-o", "jsonpath="+alive+field)
		if err != nil {
			return err
		}
		deleted, found, _ := strings.Cut(printed, "|")
		if deleted != "" {
			found = ""
		}
		if found != want {
			return fmt.Errorf("%s of %s in namespace %s is %q, want %q", field, object, namespace, found, want)
		}
		return nil
	})
}

// waitForNone waits until an object is gone.
func waitForNone(t *testing.T, namespace, object string) {
	t.Helper()
	env.Kubectl(t, "wait", "--for=delete", object, "-n", namespace, patience)
}

// uid returns the present UID of an object.
func uid(t *testing.T, namespace, object string) string {
	t.Helper()
	return env.Kubectl(t, "get", object, "-n", namespace, "-o", "jsonpath={.metadata.uid}")
}

// waitForAnother waits until an object was created again.
func waitForAnother(t *testing.T, namespace, object, former string) {
	t.Helper()
	env.Eventually(t, func(ctx context.Context) error {
		found, err := env.Host.RunKubectl(ctx, "get", object, "-n", namespace, "-o", "jsonpath={.metadata.uid}")
		if err == nil && found == former {
			err = fmt.Errorf("%s in namespace %s is still the former one", object, namespace)
		}
		return err
	})
}
