// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"
)

// run runs a command and returns its exit code and what it printed.
func run(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Main(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}, args)
	return code, stdout.String(), stderr.String()
}

// The examples in the repository are tested as their users test them.
func TestTheHooksOfTheExamples(t *testing.T) {
	hooks, err := filepath.Glob("../../../artifacts/examples/*/controller.yaml")
	if err != nil || len(hooks) == 0 {
		t.Fatalf("there are no examples (%v)", err)
	}
	for _, hook := range hooks {
		example := filepath.Dir(hook)
		if filepath.Base(example) == "webhook-auth" {
			continue // it is about connections, and its hook takes none without a client certificate
		}
		t.Run(filepath.Base(example), func(t *testing.T) {
			t.Parallel()
			if code, out, errOut := run(t, "test", example); code != 0 {
				t.Errorf("exit code %d:\n%s%s", code, out, errOut)
			}
		})
	}
}

// The controller-inline.yaml of an example differs from controller.yaml in the hooks only, and passes the same tests.
func TestTheInlineTwinsOfTheExamples(t *testing.T) {
	twins, err := filepath.Glob("../../../artifacts/examples/*/controller-inline.yaml")
	if err != nil || len(twins) < 8 {
		t.Fatalf("the twins are %q (%v)", twins, err)
	}
	for _, twin := range twins {
		example := filepath.Dir(twin)
		t.Run(filepath.Base(example), func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(withoutHooks(t, filepath.Join(example, "controller.yaml")), withoutHooks(t, twin)); diff != "" {
				t.Errorf("the twin differs in more than the hooks (-webhook +inline):\n%s", diff)
			}
			args := []string{"test", example, "-f", twin}
			types := filepath.Join(example, "crd.yaml")
			if _, err := os.Stat(types); err == nil {
				args = append(args, "-f", types)
			}
			code, out, errOut := run(t, args...)
			if code != 0 || strings.Contains(errOut, "runs this command") {
				t.Errorf("exit code %d:\n%s%s", code, out, errOut)
			}
		})
	}
}

// The examples of kro that need no cloud, as inline hooks. docs/comparison.md says how they differ.
func TestTheExamplesOfKro(t *testing.T) {
	t.Parallel()
	if code, out, errOut := run(t, "test", "testdata/kro"); code != 0 {
		t.Errorf("exit code %d:\n%s%s", code, out, errOut)
	}
}

// withoutHooks returns the controller in a file without its hooks.
func withoutHooks(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var controller map[string]any
	if err := yaml.Unmarshal(text, &controller); err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(controller, "spec", "hooks")
	return controller
}

// project is a folder with a controller, a hook in Python, a case that passes and one that does not.
func project(t *testing.T) string {
	t.Helper()
	return written(t, map[string]string{
		"controller.yaml": `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: labels}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  hooks: {sync: {version: v2, webhook: {url: "http://labels.default/sync"}}}
`,
		"hook.py": `
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print("somebody asks about", asked["object"]["metadata"]["name"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"labels":{"seen":"yes"}}')
    def log_message(self, *args): pass
HTTPServer(("127.0.0.1", int(sys.argv[1])), Hook).serve_forever()
`,
		"tests/suite.yaml": "hookCommand: python3 hook.py $PORT\n",
		"tests/good.yaml":  "parent: {apiVersion: v1, kind: Pod, metadata: {name: good}}\nexpect: {labels: {seen: \"yes\"}, steps: [update metadata of Pod good]}\n",
		"tests/wrong.yaml": "parent: {apiVersion: v1, kind: Pod, metadata: {name: wrong}}\nexpect: {labels: {seen: \"no\"}}\n",
	})
}

// written returns a new folder with these files.
func written(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

var tookPattern = regexp.MustCompile(`\(\d+ ms\)`)

func TestTest(t *testing.T) {
	folder := project(t)
	junit := filepath.Join(folder, "junit.xml")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--run", "good"}, 0, "ok    good (? ms)\n1 passed.\n"},
		{[]string{"--junit", junit}, 1, `ok    good (? ms)
FAIL  wrong (? ms)
      expected (-) and actual (+):
        labels:
      -   seen: "no"
      +   seen: "yes"
      the hook printed:
        somebody asks about wrong
1 failed, 1 passed.
`},
		{[]string{"--run", "none"}, 2, ""},
		{[]string{"--hook", "http://127.0.0.1:1", "--run", "good"}, 1, `FAIL  good (? ms)
      expected (-) and actual (+):
      - labels:
      -   seen: "yes"
      - steps:
      - - update metadata of Pod good
      + error: 'sync hook: call http://127.0.0.1:1/sync: dial tcp 127.0.0.1:1: connect: connection refused'
      + steps: []
1 failed, 0 passed.
`},
		{[]string{"--update"}, 0, "same     good (? ms)\nupdated  wrong (? ms)\n2 passed.\n"},
		{nil, 0, "ok    good (? ms)\nok    wrong (? ms)\n2 passed.\n"},
	} {
		code, out, errOut := run(t, append([]string{"test", folder}, test.args...)...)
		if diff := cmp.Diff(test.want, tookPattern.ReplaceAllString(out, "(? ms)")); diff != "" || code != test.code {
			t.Errorf("%v: exit code %d (-want +got):\n%s%s", test.args, code, diff, errOut)
		}
	}
	if raw, err := os.ReadFile(junit); err != nil || !strings.Contains(string(raw), `tests="2" failures="1"`) ||
		!strings.Contains(string(raw), "<system-out>somebody asks about good</system-out>") {
		t.Errorf("the file of JUnit is %s (%v)", raw, err)
	}
}

// What is probably a mistake of the hook does not become what is expected of it.
func TestUpdateWritesNoMistakes(t *testing.T) {
	const answer = `self.wfile.write(b'{"labels":{"seen":"yes"}}')`
	for name, test := range map[string]struct {
		answer string // of the hook, in Python
		expect string
		want   string // what is said; empty if the case is written
	}{
		"a crash":                  {`raise ValueError("typo")`, "", "write error into expect first"},
		"a crash that is expected": {`raise ValueError("typo")`, "expect: {error: x}", ""},
		"a warning":                {strings.Replace(answer, "labels", "labells", 1), "", "write warnings into expect first"},
		"a random value": {`self.wfile.write(b'{"labels":{"seen":"%d"}}' % random.getrandbits(60))`, "",
			"the hook returned a different answer the second time"},
		"what is as it should be": {answer, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := project(t)
			controller, program := filepath.Join(folder, "controller.yaml"), filepath.Join(folder, "hook.py")
			spec, err := os.ReadFile(controller)
			if err != nil {
				t.Fatal(err)
			}
			loose := strings.Replace(string(spec), "version: v2", "version: v1", 1) // in which an unknown field is a warning
			raw, err := os.ReadFile(program)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Replace("import random\n"+string(raw), answer, test.answer, 1)
			given := "parent: {apiVersion: v1, kind: Pod, metadata: {name: good}}\n" + test.expect + "\n"
			path := filepath.Join(folder, "tests", "good.yaml")
			for path, content := range map[string]string{controller: loose, program: text, path: given} {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			code, out, errOut := run(t, "test", folder, "--run", "good", "--update")
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			isWritten := string(after) != given
			if !strings.Contains(out, test.want) || (code == 0) != (test.want == "") || isWritten != (test.want == "") {
				t.Errorf("exit code %d, written %t:\n%s%s", code, isWritten, out, errOut)
			}
		})
	}
}

// A folder may come from another person, so the command names the program of the folder before it runs it.
func TestWhatIsRunIsSaidBefore(t *testing.T) {
	folder := project(t)
	said := "note: " + filepath.Join(folder, "tests", "suite.yaml") + " runs this command: "
	settings := `hookCommand: "printf '\e[2K'; exit 1"` + "\n"
	if err := os.WriteFile(filepath.Join(folder, "tests", "suite.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := run(t, "test", folder)
	if want := said + "printf '^[[2K'; exit 1\nerror: "; code != 2 || !strings.HasPrefix(errOut, want) {
		t.Errorf("exit code %d: %q, want %q", code, errOut, want)
	}
	for _, own := range [][]string{{"--hook-command", "python3 hook.py $PORT"}, {"--hook", "http://127.0.0.1:1"}} {
		_, _, errOut := run(t, append([]string{"test", folder, "--run", "good"}, own...)...)
		if strings.Contains(errOut, said) {
			t.Errorf("%v: it says %s", own, errOut)
		}
	}
}

// A controller with only inline hooks is tested without a program; a failed expression is the error of the sync.
func TestInlineHooksNeedNoProgram(t *testing.T) {
	folder := written(t, map[string]string{
		"controller.yaml": `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: labels}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  attachments: [{apiVersion: v1, resource: services}]
  hooks:
    sync: {inline: {labels: {of: "${object.metadata.name}", node: "${object.spec.nodeName}"}, attachments: []}}
    finalize: {inline: {attachments: [], finalized: "${size(attachments['Service.v1']) == 0}"}}
`,
		"tests/good.yaml": `
parent: {apiVersion: v1, kind: Pod, metadata: {name: good}, spec: {nodeName: here}}
expect: {labels: {of: good, node: here}, steps: [update metadata of Pod good]}
`,
		"tests/wrong.yaml": `
parent: {apiVersion: v1, kind: Pod, metadata: {name: wrong}, spec: {}}
expect: {error: 'sync hook failed: inline: labels.node: no such key: nodeName (at 1:12 of the expression)'}
`,
		"tests/gone.yaml": `
parent: {apiVersion: v1, kind: Pod, metadata: {name: gone}}
deleted: true
expect: {finalized: true, steps: [update metadata of Pod gone]}
`,
	})
	const want = "ok    gone (? ms)\nok    good (? ms)\nok    wrong (? ms)\n3 passed.\n"
	code, out, errOut := run(t, "test", folder)
	if diff := cmp.Diff(want, tookPattern.ReplaceAllString(out, "(? ms)")); diff != "" || code != 0 {
		t.Errorf("exit code %d (-want +got):\n%s%s", code, diff, errOut)
	}
}

func TestTestsThatCannotBeRun(t *testing.T) {
	folder := project(t)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no folder":               {[]string{"test", filepath.Join(folder, "none")}, "does not exist"},
		"a hook that ends":        {[]string{"test", folder, "--hook-command", "false"}, "the program has ended"},
		"two ways to the hook":    {[]string{"test", folder, "--hook-command", "false", "--hook", "a:1"}, "not both"},
		"an address that is none": {[]string{"test", folder, "--hook", "ftp://a"}, "address of the hook"},
		"a pattern that is none":  {[]string{"test", folder, "--run", "["}, "--run"},
		"a color that is none":    {[]string{"test", folder, "--color", "red"}, "--color"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, _, errOut := run(t, test.args...); code != 2 || !strings.Contains(errOut, test.want) {
				t.Errorf("exit code %d: %s", code, errOut)
			}
		})
	}
}
