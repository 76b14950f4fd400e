// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Scripts need not know which command printed something: an object, or a List as of kubectl get.
func TestObjectsArePrintedAsByKubectl(t *testing.T) {
	object := `apiVersion: metacontroller.k8s.io/v1alpha1
kind: ResyncRequest
metadata:
  name: NAME
spec: {}
status:
  parents: 0
`
	inJSON := `{
    "kind": "ResyncRequest",
    "apiVersion": "metacontroller.k8s.io/v1alpha1",
    "metadata": {
        "name": "NAME"
    },
    "spec": {},
    "status": {
        "parents": 0
    }
}`
	item := func(name string) string {
		return "- " + strings.ReplaceAll(strings.TrimSuffix(strings.ReplaceAll(object, "NAME", name), "\n"), "\n", "\n  ") + "\n"
	}
	itemInJSON := func(name string) string {
		return "        " + strings.ReplaceAll(strings.ReplaceAll(inJSON, "NAME", name), "\n", "\n        ")
	}
	beginJSON, endJSON := "{\n    \"apiVersion\": \"v1\",\n    \"items\": [", "],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n"
	endYAML := "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
	failure := errors.New("the second one is not there")
	for name, test := range map[string]struct {
		format  string
		several bool
		objects []string
		fails   error
		want    string
	}{
		"one as YAML":                    {format: "yaml", objects: []string{"a"}, want: strings.ReplaceAll(object, "NAME", "a")},
		"one as JSON":                    {format: "json", objects: []string{"a"}, want: strings.ReplaceAll(inJSON, "NAME", "a") + "\n"},
		"one by its name":                {format: "name", objects: []string{"a"}, want: "resyncrequest.metacontroller.k8s.io/a\n"},
		"several as YAML":                {format: "yaml", several: true, objects: []string{"a", "b"}, want: "apiVersion: v1\nitems:\n" + item("a") + item("b") + endYAML},
		"several as JSON":                {format: "json", several: true, objects: []string{"a", "b"}, want: beginJSON + "\n" + itemInJSON("a") + ",\n" + itemInJSON("b") + "\n    " + endJSON},
		"several by their names":         {format: "name", several: true, objects: []string{"a", "b"}, want: "resyncrequest.metacontroller.k8s.io/a\nresyncrequest.metacontroller.k8s.io/b\n"},
		"as YAML, and there is only one": {format: "yaml", several: true, objects: []string{"a"}, want: "apiVersion: v1\nitems:\n" + item("a") + endYAML},
		"as YAML, and there is none":     {format: "yaml", several: true, want: "apiVersion: v1\nitems: []\n" + endYAML},
		"as JSON, and there is none":     {format: "json", several: true, want: beginJSON + endJSON},
		"by name, and there is none":     {format: "name", several: true},
		"until an error":                 {format: "yaml", several: true, objects: []string{"a"}, fails: failure, want: "apiVersion: v1\nitems:\n" + item("a") + endYAML},
		"with an error at once":          {format: "yaml", several: true, fails: failure},
	} {
		t.Run(name, func(t *testing.T) {
			var printed bytes.Buffer
			o := &output{streams: Streams{Out: &printed}, format: test.format}
			err := o.inList(test.several, func() error {
				for _, name := range test.objects {
					managed := []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
					if err := o.print(&v1alpha1.ResyncRequest{ObjectMeta: metav1.ObjectMeta{Name: name, ManagedFields: managed}}); err != nil {
						return err
					}
				}
				return test.fails
			})
			if !errors.Is(err, test.fails) {
				t.Errorf("the error is %v", err)
			}
			if diff := cmp.Diff(test.want, printed.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAllCommandsHaveTheSameOutputFormats(t *testing.T) {
	found := 0
	var look func(*cobra.Command)
	look = func(command *cobra.Command) {
		for _, below := range command.Commands() {
			look(below)
		}
		flag := command.Flags().Lookup("output")
		if flag == nil {
			return
		}
		found++
		if !strings.Contains(flag.Usage, "json, yaml, name") {
			t.Errorf("%s -o has not all formats: %s", command.CommandPath(), flag.Usage)
		}
	}
	look(NewCommand(Streams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}))
	if found < 10 {
		t.Errorf("only %d commands have -o", found)
	}
}
