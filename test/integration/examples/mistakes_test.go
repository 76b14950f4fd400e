// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// examples returns the folders of the examples.
func examples(t *testing.T) []string {
	t.Helper()
	controllers, err := filepath.Glob(filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "examples", "*", "controller.yaml"))
	if err != nil || len(controllers) < 9 {
		t.Fatalf("the examples are %q, error %v", controllers, err)
	}
	var folders []string
	for _, controller := range controllers {
		folders = append(folders, filepath.Dir(controller))
	}
	return folders
}

func read(t *testing.T, folder, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What examples do is copied, so the mistakes in copies have to be seen, too.
func TestTheHookOfAnExampleSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, folder := range examples(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			_, after, plain := strings.Cut(read(t, folder, "controller.yaml"), "url: http://127.0.0.1:")
			if !plain { // its README shows whom it answers
				return
			}
			url := "http://127.0.0.1:" + startHook(t, folder)
			_, path, _ := strings.Cut(strings.Fields(after)[0], "/")
			for _, test := range []struct {
				path   string
				status int
				says   string
			}{
				{"/nope", http.StatusNotFound, "there is no hook /nope, only /"},
				{"/" + path, http.StatusInternalServerError, "Error: "},
			} {
				response, err := http.Post(url+test.path, "application/json", strings.NewReader(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				if err := response.Body.Close(); err != nil {
					t.Error(err)
				}
				if err != nil || response.StatusCode != test.status || !strings.Contains(string(body), test.says) {
					t.Errorf("%s is answered with status %d, error %v: %s", test.path, response.StatusCode, err, body)
				}
			}
		})
	}
}

func TestTheServersOfExamplesAreTheSame(t *testing.T) {
	t.Parallel()
	servers := map[string][]string{}
	for _, folder := range examples(t) {
		if _, err := os.Stat(filepath.Join(folder, "hook.py")); err != nil {
			continue
		}
		_, server, _ := strings.Cut(read(t, folder, "hook.py"), "class Hook(")
		server, _, _ = strings.Cut(server, "if __name__")
		// One example has a sort of error that is told without a traceback.
		server = strings.Replace(server, "        except Mistake as mistake:\n            status, text = 400, str(mistake)\n", "", 1)
		servers[server] = append(servers[server], filepath.Base(folder))
	}
	if len(servers) != 1 {
		t.Errorf("the class Hook differs: %q", servers)
	}
}

// Version v2 refuses an answer with a misspelt field, which would delete all children in v1.
func TestTheHooksOfExamplesAreOfVersionV2(t *testing.T) {
	t.Parallel()
	for _, folder := range examples(t) {
		controller := read(t, folder, "controller.yaml")
		webhooks := strings.Count(controller, "      webhook:\n")
		v2 := strings.Count(controller, "      version: v2\n      webhook:\n")
		if inline := strings.Contains(controller, "      inline:\n"); webhooks == 0 && !inline || webhooks != v2 {
			t.Errorf("%d of the %d webhooks of %s are of version v2", v2, webhooks, filepath.Base(folder))
		}
	}
}
