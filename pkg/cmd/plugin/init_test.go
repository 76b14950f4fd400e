// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A new controller works as it is, and its tests pass.
func TestInit(t *testing.T) {
	hooks := []string{"--inline"}
	for _, language := range languages() {
		hooks = append(hooks, "--lang="+language)
	}
	for _, hook := range hooks {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "proxy-policy")
			args := []string{"init", folder, hook, "--group", "net.example.org", "--kind", "ProxyPolicy"}
			if code, out, errOut := run(t, args...); code != 0 {
				t.Fatalf("exit code %d: %s%s", code, out, errOut)
			}
			if code, out, errOut := run(t, "test", folder); code != 0 || !strings.Contains(out, "2 passed") {
				t.Errorf("exit code %d: %s%s", code, out, errOut)
			}
			checkNames(t, folder, hook == "--inline")
			if code, _, errOut := run(t, "init", folder); code != 1 || !strings.Contains(errOut, "is not empty") {
				t.Errorf("exit code %d: %s", code, errOut)
			}
		})
	}
}

// checkNames checks that a folder has the names of its type, and none of those that they take the place of.
func checkNames(t *testing.T, folder string, inline bool) {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		all.Write(content)
		if filepath.Ext(path) != ".go" {
			return nil
		}
		formatted, err := format.Source(content)
		if string(formatted) != string(content) {
			t.Errorf("%s is not formatted", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"kind: ProxyPolicy": true, "proxy-policies.net.example.org": true,
		"http://hook.proxy-policy-system/sync": !inline, "Dockerfile": !inline,
		"ebsite": false, "example.com": false, "HOOK_": false, "LANGUAGE": false,
	} {
		if got := strings.Contains(all.String(), name); got != want {
			t.Errorf("%q is there: %t", name, got)
		}
	}
}

func TestNamesThatNoTypeCanHave(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no name":                      {nil, "specify one NAME"},
		"a name with a capital letter": {[]string{"Website"}, `NAME is "Website"`},
		"a kind with a space":          {[]string{"website", "--kind", "Web Site"}, "--kind"},
		"a plural that is none":        {[]string{"website", "--plural", "web_sites"}, "--plural"},
		"a group without a dot":        {[]string{"website", "--group", "apps"}, "--group must contain a dot"},
		"another language":             {[]string{"website", "--lang", "cobol"}, "--lang must be one of go, node, python"},
		"an inline hook in a language": {[]string{"website", "--inline", "--lang", "go"}, "[inline lang]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if code, _, errOut := run(t, append([]string{"init"}, test.args...)...); code != 1 || !strings.Contains(errOut, test.want) {
				t.Errorf("exit code %d: %s", code, errOut)
			}
		})
	}
}

func TestPlurals(t *testing.T) {
	for name, want := range map[string]string{"website": "websites", "policy": "policies", "proxy": "proxies", "key": "keys", "box": "boxes", "batch": "batches", "alias": "aliases"} {
		if got := plural(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
