// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page has ”' for the fences of its blocks.
func page(t *testing.T, text string) *Page {
	t.Helper()
	read, err := parse("page.md", strings.ReplaceAll(text, "'''", "```"))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestBlocksOfAPage(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []*Block
	}{
		"commands": {
			"# Title\n\n'''sh\nkubectl get pods\n'''\n",
			[]*Block{{Line: 4, Heading: "Title", Language: "sh", Text: "kubectl get pods\n"}},
		},
		"what the commands print follows on them": {
			"'''sh\nls\n'''\n\n'''text\na b\n'''\n",
			[]*Block{{Line: 2, Language: "sh", Text: "ls\n", Prints: "a b\n"}},
		},
		"a text after words is no output": {
			"'''sh\nls\n'''\n\nA picture:\n\n'''text\na b\n'''\n",
			[]*Block{{Line: 2, Language: "sh", Text: "ls\n"}, {Line: 8, Language: "text", Text: "a b\n"}},
		},
		"a file that the page names": {
			"Save this as `a.yaml`, and run it with `b`:\n\n'''yaml\na: b\n'''\n",
			[]*Block{{Line: 4, Language: "yaml", Text: "a: b\n", Files: []string{"a.yaml"}}},
		},
		"a file that a comment names": {
			"<!-- file: x/a.yaml -->\n'''yaml\na: b\n'''\n",
			[]*Block{{Line: 3, Language: "yaml", Text: "a: b\n", Files: []string{"x/a.yaml"}}},
		},
		"files that the reader brings": {
			"<!-- file: a b -->\n\n'''sh\ncat a b\n'''\n",
			[]*Block{{Line: 1, Files: []string{"a", "b"}}, {Line: 4, Language: "sh", Text: "cat a b\n"}},
		},
		"a block that is not run, and the next one": {
			"<!-- not run: why -->\n'''sh\na\n'''\n\n'''sh\nb\n'''\n",
			[]*Block{{Line: 3, Language: "sh", Text: "a\n", NotRun: "why"}, {Line: 7, Language: "sh", Text: "b\n"}},
		},
		"hidden commands": {
			"<!-- run\nkubectl get pods\n-->\n",
			[]*Block{{Line: 2, Language: "sh", Text: "kubectl get pods\n"}},
		},
		"a block in an item of a list": {
			"* An item:\n\n  '''sh\n  ls\n    more\n  '''\n\n    and its words\n",
			[]*Block{{Line: 4, Language: "sh", Text: "ls\n  more\n"}},
		},
		"a block that is only indented": {
			"Words:\n\n    ls\n",
			[]*Block{{Line: 3, Language: Indented, Text: "    ls"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, page(t, test.text).Blocks); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABlockWithoutAnEndIsAnError(t *testing.T) {
	if _, err := parse("page.md", "```sh\nls\n"); err == nil {
		t.Error("it is read")
	}
}

func TestAPageSaysWhoFollowsIt(t *testing.T) {
	if got := page(t, "# Title\n\n<!-- followed by: test/e2e -->\n").FollowedBy; got != "test/e2e" {
		t.Errorf("it is followed by %q", got)
	}
}

func TestCommandsOfABlock(t *testing.T) {
	const text = `kubectl get pods    # a remark
# only a remark
echo "a # b"
python3 hook.py 8080 &
kubectl create \
  --from=a
kubectl apply -f - <<'EOF'
a: b

c: d
EOF
ls
`
	want := []string{
		"kubectl get pods", `echo "a # b"`, "python3 hook.py 8080 &", "kubectl create \\\n  --from=a", "kubectl apply -f - <<'EOF'\na: b\n\nc: d\nEOF", "ls",
	}
	if diff := cmp.Diff(want, split(text)); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestWhatIsPrintedIsComparedWithThePage(t *testing.T) {
	for name, test := range map[string]struct {
		shown, printed string
		differs        bool
	}{
		"the same":                    {"a b\n", "a b\n", false},
		"another word":                {"a b\n", "a c\n", true},
		"a line more":                 {"a\n", "a\nb\n", true},
		"a line less":                 {"a\nb\n", "a\n", true},
		"columns of another width":    {"NAME   AGE\na      1s\n", "NAME      AGE\na         2m3s\n", false},
		"an address":                  {"10.0.0.1 80/TCP", "10.0.0.240 80/TCP", false},
		"the random end of a name":    {"hello-746fc7c4dc-rzslh Running", "hello-65d4b8f7c9-abcde Running", false},
		"lines that are left out":     {"a\n...\nd\n", "a\nb\nc\nd\n", false},
		"no lines that are left out":  {"a\n...\nd\n", "a\nd\n", false},
		"the rest of a line":          {"a: b...\nc\n", "a: b and more\nc\n", false},
		"another beginning of a line": {"a: b...\n", "a: c and more\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := compare(test.shown, test.printed); (err != nil) != test.differs {
				t.Errorf("got %v", err)
			}
		})
	}
}
