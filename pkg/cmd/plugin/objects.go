// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// inList has a function print objects. If several is true, they are the items of one v1 List, also if there is only one or none of
// them: the form of the output follows from the arguments, as that of kubectl get.
func (o *output) inList(several bool, printAll func() error) error {
	if !several || o.format != "json" && o.format != "yaml" {
		return printAll()
	}
	o.list = &list{to: o.streams.Out, format: o.format}
	if err := printAll(); err != nil {
		if o.list.items > 0 {
			_ = o.list.end() // what there is remains readable
		}
		return err
	}
	return o.list.end()
}

// print prints an object as -o says: JSON, YAML, or its name. As by kubectl, managedFields are left out.
func (o *output) print(object runtime.Object) error {
	if object.GetObjectKind().GroupVersionKind().Empty() {
		kinds, _, err := scheme.Scheme.ObjectKinds(object) // objects in lists, and answers to requests, have no kind
		if err != nil {
			return err
		}
		object.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if o.format == "name" {
		return o.printName(object.GetObjectKind().GroupVersionKind().GroupKind(), accessor.GetName())
	}
	accessor.SetManagedFields(nil)
	if o.list != nil {
		return o.list.add(object)
	}
	return o.printValue(object)
}

// printItems prints the items of a list that the API has answered.
func printItems[T any, P interface {
	*T
	runtime.Object
}](o *output, items []T) error {
	for i := range items {
		if err := o.print(P(&items[i])); err != nil {
			return err
		}
	}
	return nil
}

// printName prints the name of an object as kubectl does with -o name.
func (o *output) printName(kind schema.GroupKind, name string) error {
	_, err := fmt.Fprintln(o.streams.Out, nameOf(kind, name))
	return err
}

// nameOf returns the name of an object as kubectl prints it.
func nameOf(kind schema.GroupKind, name string) string {
	of := strings.ToLower(kind.Kind)
	if kind.Group != "" {
		of += "." + kind.Group
	}
	return of + "/" + name
}

// printValue prints a value as JSON or YAML.
func (o *output) printValue(value any) error {
	text, err := formatted(value, o.format, "")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.streams.Out, text)
	return err
}

// formatted returns a value as JSON or YAML, without the last newline. Lines of JSON but the first have the prefix.
func formatted(value any, format, prefix string) (string, error) {
	raw, err := json.MarshalIndent(value, prefix, "    ")
	if err != nil || format == "json" {
		return string(raw), err
	}
	raw, err = yaml.JSONToYAML(raw)
	return strings.TrimSuffix(string(raw), "\n"), err
}

// list is a v1 List that is printed while its items come: not all previews of a thousand parents are in memory.
type list struct {
	to     io.Writer
	format string
	items  int
}

// add prints an item, with what is before it.
func (l *list) add(item any) error {
	text, err := "", error(nil)
	if l.format == "yaml" {
		text, err = formatted([]any{item}, l.format, "")
	} else {
		text, err = formatted(item, l.format, "        ")
	}
	if err != nil {
		return err
	}
	frame := frames[l.format]
	before := frame.between
	if l.items == 0 {
		before = frame.before
	}
	l.items++
	_, err = io.WriteString(l.to, before+text)
	return err
}

// end prints what is behind the items, or a list without any.
func (l *list) end() error {
	if l.items == 0 {
		text, err := formatted(map[string]any{
			"apiVersion": "v1", "items": []any{}, "kind": "List", "metadata": map[string]any{"resourceVersion": ""},
		}, l.format, "")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(l.to, text)
		return err
	}
	_, err := fmt.Fprintln(l.to, frames[l.format].after)
	return err
}

// frames are the texts around the items of a List.
var frames = map[string]struct{ before, between, after string }{
	"yaml": {"apiVersion: v1\nitems:\n", "\n", "\nkind: List\nmetadata:\n  resourceVersion: \"\""},
	"json": {
		"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        ", ",\n        ",
		"\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}",
	},
}
