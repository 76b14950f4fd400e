// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Scripts need not know which command printed something: an object, or a List as of kubectl get.
func TestObjectsArePrintedAsByKubectl(t *testing.T) {
	const (
		object = `apiVersion: metacontroller.k8s.io/v1alpha1
kind: ResyncRequest
metadata:
  name: a
spec: {}
status:
  parents: 0
`
		item = `- apiVersion: metacontroller.k8s.io/v1alpha1
  kind: ResyncRequest
  metadata:
    name: a
  spec: {}
  status:
    parents: 0
`
		begin = "apiVersion: v1\nitems:\n"
		end   = "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
	)
	failure := errors.New("the second one is not there")
	for name, test := range map[string]struct {
		args    []string
		several bool
		objects []string
		fails   error
		want    string
	}{
		"one as YAML": {args: []string{"-o", "yaml"}, objects: []string{"a"}, want: object},
		"one as JSON": {args: []string{"-o", "json"}, objects: []string{"a"}, want: `{
    "apiVersion": "metacontroller.k8s.io/v1alpha1",
    "kind": "ResyncRequest",
    "metadata": {
        "name": "a"
    },
    "spec": {},
    "status": {
        "parents": 0
    }
}
`},
		"one by its name": {
			args: []string{"-o", "name"}, objects: []string{"a"}, want: "resyncrequest.metacontroller.k8s.io/a\n",
		},
		"one by a path": {
			args: []string{"-o", "jsonpath={.metadata.name}={.status.parents}"}, objects: []string{"a"}, want: "a=0",
		},
		"one by a template": {
			args: []string{"-o", "go-template={{.kind}} {{.metadata.name}}"}, objects: []string{"a"}, want: "ResyncRequest a",
		},
		"one by a template, without -o": {
			args: []string{"--template", "{{.kind}}"}, objects: []string{"a"}, want: "ResyncRequest",
		},
		"one in columns": {
			args:    []string{"-o", "custom-columns=NAME:.metadata.name,PARENTS:.status.parents"},
			objects: []string{"a"}, want: "NAME   PARENTS\na      0\n",
		},
		"several as YAML": {
			args: []string{"-o", "yaml"}, several: true, objects: []string{"a", "b"},
			want: begin + item + strings.ReplaceAll(item, "name: a", "name: b") + end,
		},
		"several by their names": {
			args: []string{"-o", "name"}, several: true, objects: []string{"a", "b"},
			want: "resyncrequest.metacontroller.k8s.io/a\nresyncrequest.metacontroller.k8s.io/b\n",
		},
		"several by a path": {
			args:    []string{"-o", "jsonpath={.items[*].metadata.name}"},
			several: true, objects: []string{"a", "b"}, want: "a b",
		},
		"several by a template": {
			args:    []string{"-o", "go-template={{range .items}}{{.metadata.name}};{{end}}"},
			several: true, objects: []string{"a", "b"}, want: "a;b;",
		},
		"several in columns": {
			args:    []string{"-o", "custom-columns=NAME:.metadata.name"},
			several: true, objects: []string{"a", "b"}, want: "NAME\na\nb\n",
		},
		"as YAML, and there is only one": {
			args: []string{"-o", "yaml"}, several: true, objects: []string{"a"}, want: begin + item + end,
		},
		"as YAML, and there is none": {
			args: []string{"-o", "yaml"}, several: true, want: "apiVersion: v1\nitems: []\n" + end,
		},
		"by name, and there is none": {args: []string{"-o", "name"}, several: true},
		"until an error": {
			args: []string{"-o", "yaml"}, several: true, objects: []string{"a"}, fails: failure, want: begin + item + end,
		},
		"with an error at once": {args: []string{"-o", "yaml"}, several: true, fails: failure},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, printed, _ := genericiooptions.NewTestIOStreams()
			o := newOutput(streams)
			if err := parse(&o, test.args...); err != nil {
				t.Fatal(err)
			}
			err := o.inList(test.several, func() error {
				for _, name := range test.objects {
					managed := []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
					meta := metav1.ObjectMeta{Name: name, ManagedFields: managed}
					if err := o.print(&v1alpha1.ResyncRequest{ObjectMeta: meta}); err != nil {
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

// parse has an output take flags, as a command does.
func parse(o *output, args ...string) error {
	command := &cobra.Command{Use: "show"}
	o.addFlags(command)
	if err := command.ParseFlags(args); err != nil {
		return err
	}
	return o.validate(command)
}

func TestOutputFormatsThatThereAreNot(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"an unknown format": {
			[]string{"-o", "xml"}, []string{`"xml"`, "custom-columns", "go-template", "jsonpath", "name", "yaml", "show -h"},
		},
		"wide, without columns": {[]string{"-o", "wide"}, []string{`"wide"`}},
		"a path that is none":   {[]string{"-o", "jsonpath={.a"}, []string{"unclosed action"}},
		"columns that are none": {[]string{"-o", "custom-columns="}, []string{"no custom columns given"}},
		"a color that is none":  {[]string{"--color", "red"}, []string{"--color"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutput(genericiooptions.NewTestIOStreamsDiscard())
			err := parse(&o, test.args...)
			if err == nil {
				t.Fatal("there is no error")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error is %v, want %q", err, part)
				}
			}
		})
	}
}

func TestAllCommandsThatPrintObjectsHaveTheSameOutputFormats(t *testing.T) {
	found := 0
	var look func(*cobra.Command)
	look = func(command *cobra.Command) {
		for _, below := range command.Commands() {
			look(below)
		}
		flag := command.Flags().Lookup("output")
		if flag == nil || command.Name() == "schema" {
			return
		}
		found++
		for _, format := range []string{"json", "yaml", "name", "jsonpath", "go-template", "custom-columns"} {
			if !strings.Contains(flag.Usage, format) {
				t.Errorf("%s -o has no %s: %s", command.CommandPath(), format, flag.Usage)
			}
		}
	}
	look(NewCommand(genericiooptions.NewTestIOStreamsDiscard()))
	if found < 9 {
		t.Errorf("only %d commands have -o", found)
	}
}
