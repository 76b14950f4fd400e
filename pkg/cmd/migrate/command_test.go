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

// What cannot be right is refused before a cluster is asked.
func TestWrongFlagsAreRefused(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"check more":                              "unknown command",
		"check --original=none":                   "connection refused",
		"check --kubeconfig=/nowhere/kubeconfig":  "/nowhere/kubeconfig",
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
