// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/resource"
)

func TestSuitesThatCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no tests": {map[string]string{"controller.yaml": composite}, "no tests found"},
		"no controller": {
			map[string]string{"crd.yaml": crd, "tests/a.yaml": parent}, "no CompositeController",
		},
		"a misspelt setting":       {map[string]string{"controller.yaml": composite, "tests/suite.yaml": "hookComand: a", "tests/a.yaml": parent}, `unknown field "hookComand"`},
		"a misspelt field":         {map[string]string{"controller.yaml": composite, "tests/a.yaml": parent + "expects: {}"}, `unknown field "expects"`},
		"a misspelt expectation":   {map[string]string{"controller.yaml": composite, "tests/a.yaml": parent + "expect: {step: []}"}, `unknown field "step"`},
		"no parent":                {map[string]string{"controller.yaml": composite, "tests/a.yaml": "expect: {}"}, "it has no parent"},
		"a controller with a typo": {map[string]string{"controller.yaml": strings.Replace(composite, "childResources", "childResource", 1), "tests/a.yaml": parent}, "childResource"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(folder(t, test.files), resource.FilenameOptions{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestAParentMayBeOneOfTheObjectsOfAFile(t *testing.T) {
	files := map[string]string{
		"controller.yaml": composite,
		"shop.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: example.com/v1\nkind: Website\nmetadata: {name: a}\nspec: {text: hi}\n" +
			"---\napiVersion: example.com/v1\nkind: Website\nmetadata: {name: b}\nspec: {text: hi}\n",
		"tests/a.yaml": "parent: {file: ../shop.yaml, name: b, with: {spec: {text: ho}, status: {}}}\nothers: [../shop.yaml]\nexpect: {steps: [create ConfigMap a]}",
	}
	if result := runOne(t, files, wantsA); result.Failed() {
		t.Errorf("%v %s", result.Err, result.Difference)
	}
	files["tests/a.yaml"] = "parent: ../shop.yaml\nexpect: {}"
	if result := runOne(t, files, wantsA); result.Err == nil || !strings.Contains(result.Err.Error(), "several objects in ../shop.yaml are parents: set name") {
		t.Errorf("the error is %v", result.Err)
	}
}

func TestUpdate(t *testing.T) {
	const before = "# A new Website.\n" + parent
	for name, test := range map[string]struct{ file, want string }{
		"nothing is expected yet": {before, before + `expect:
  status: {}
  children:
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: a
    data:
      text: hi
  steps:
  - create ConfigMap a
`},
		"the form stays, and empty objects are filled": {before + `expect:
  steps: [{step: create ConfigMap a, object: {data: {}}}, delete ConfigMap b]
# what follows stays
others: []
`, before + `expect:
  steps:
  - step: create ConfigMap a
    object:
      data:
        text: hi
# what follows stays
others: []
`},
		"what is as expected stays as it is written": {before + "expect: {steps: [create ConfigMap a]} # so\n", before + "expect: {steps: [create ConfigMap a]} # so\n"},
		"a comment in it goes":                       {before + "expect:\n# all\n  steps: []\n# more\n\n# of it\nothers: []\n", before + "expect:\n  steps:\n  - create ConfigMap a\n# of it\nothers: []\n"},
		"exactly": {before + "expect: {exact: true, children: []}\n", before + `expect:
  exact: true
  children:
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: a
    data:
      text: hi
`},
	} {
		t.Run(name, func(t *testing.T) {
			result := runOne(t, map[string]string{"controller.yaml": composite, "tests/a.yaml": test.file}, wantsA)
			written, err := result.Update()
			if err != nil {
				t.Fatal(err)
			}
			after, err := os.ReadFile(result.Path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(after)); diff != "" || written != (test.file != test.want) {
				t.Errorf("written is %t (-want +got):\n%s", written, diff)
			}
		})
	}
}

func TestJUnit(t *testing.T) {
	var text bytes.Buffer
	err := WriteJUnit(&text, []*Report{{Folder: "shop", Results: []*Result{
		{Case: &Case{Name: "a", Path: "tests/a.yaml"}, Duration: 20 * time.Millisecond},
		{Case: &Case{Name: "b", Path: "tests/b.yaml"}, Difference: "- x\n+ <y>\n"},
		{Case: &Case{Name: "c", Path: "tests/c.yaml"}, Err: errors.New("it fell")},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var read junitSuites
	if err := xml.Unmarshal(text.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	suite := read.Suites[0]
	if suite.Tests != 3 || suite.Failures != 1 || suite.Errors != 1 || suite.Cases[0].Time != "0.020" || suite.Cases[1].Failure.Text != "- x\n+ <y>\n" || suite.Cases[2].Error.Text != "it fell" {
		t.Errorf("the file is\n%s", text.String())
	}
}
