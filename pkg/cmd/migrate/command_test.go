// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// run runs the command, and returns what it prints.
func run(in string, args ...string) (string, error) {
	command := NewCommand()
	var out bytes.Buffer
	command.SetIn(strings.NewReader(in))
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs(args)
	err := command.Execute()
	return out.String(), err
}

func TestValuesAreConverted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("env: [{name: A, value: b}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "env:\n- name: A\n  value: b\n"
	for _, of := range []struct {
		in   string
		args []string
	}{
		{"", []string{"values", file}},
		{"env: [{name: A, value: b}]", []string{"values"}},
		{"env: [{name: A, value: b}]", []string{"values", "-"}},
	} {
		if got, err := run(of.in, of.args...); err != nil || !strings.HasSuffix(got, want) {
			t.Errorf("%v prints %q (%v)", of.args, got, err)
		}
	}
}

// What cannot be right is refused before a cluster is asked.
func TestWrongFlagsAreRefused(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"check --original=metacontroller":         "neither statefulset/NAMESPACE/NAME nor deployment/NAMESPACE/NAME nor none",
		"check --original=daemonset/a/b":          "neither statefulset/NAMESPACE/NAME",
		"check --ca-file=/nowhere/ca.crt":         "--ca-file: open /nowhere/ca.crt",
		"check more":                              "unknown command",
		"--original=none status":                  "connection refused",
		"check --kubeconfig=/nowhere/kubeconfig":  "/nowhere/kubeconfig",
		"--to-crds --original=statefulset/a/b":    "connection refused",
		"switch --dry-run --original=a/b/c":       "neither statefulset/NAMESPACE/NAME",
		"check --service-port=https --timeout=1s": "invalid argument",
	} {
		all := strings.Fields(args)
		if !strings.Contains(args, "--kubeconfig") {
			all = append(all, "--kubeconfig="+kubeconfig)
		}
		if said, err := run("", all...); err == nil || !strings.Contains(said, want) {
			t.Errorf("%s says %q, and not %q", args, said, want)
		}
	}
}
