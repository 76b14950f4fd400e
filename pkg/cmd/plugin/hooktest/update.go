// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
)

// whatIsWritten are the fields that are written to a case without expectations.
var whatIsWritten = []string{"status", "labels", "annotations", "children", "finalized", "resyncAfter", "related",
	"steps", "events", "rollout"}

// Update writes the outcome to the file of the case, in the form of the expected result. It keeps everything else in
// the file, and reports whether the file has changed.
func (r *Result) Update() (written bool, err error) {
	got, err := r.updated()
	if got == nil || err != nil {
		return false, err
	}
	text, err := formatted(map[string]any{"expect": got})
	if err != nil {
		return false, err
	}
	before, err := os.ReadFile(r.Path)
	if err != nil {
		return false, err
	}
	after, err := replaceExpect(before, text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", r.Path, err)
	}
	if bytes.Equal(before, after) {
		return false, nil
	}
	return true, os.WriteFile(r.Path, after, 0o644) //nolint:gosec // it is a file of a repository
}

// problem returns the part of the outcome that is probably a mistake and is not expected; empty if there is none.
func (r *Result) problem() string {
	want := map[string]any{}
	if r.Expect != nil {
		var err error
		if want, err = fieldsOf(r.Expect); err != nil {
			return err.Error()
		}
	}
	for _, name := range problems {
		value, there := r.Outcome.fields[name]
		isFailure := name == "error" && want["result"] == string(v1alpha1.ReviewedFailed)
		if !there || want[name] != nil || isFailure {
			continue
		}
		text, err := formatted(map[string]any{name: value})
		if err != nil {
			return err.Error()
		}
		return "this is probably a mistake; if not, write " + name + " into expect first:\n" + string(text)
	}
	return ""
}

// differenceTo returns a diff to another outcome of the case; empty if they are equal.
func (r *Result) differenceTo(other *Outcome) (string, error) {
	if other == nil || reflect.DeepEqual(r.Outcome.fields, other.fields) {
		return "", nil
	}
	first, err := formatted(r.Outcome.fields)
	if err != nil {
		return "", err
	}
	second, err := formatted(other.fields)
	return printing.Difference(string(first), string(second)), err
}

// updated returns the new expected result; nil if it is unchanged.
func (r *Result) updated() (map[string]any, error) {
	if r.Expect == nil {
		return r.Outcome.summary(), nil
	}
	want, err := fieldsOf(r.Expect)
	if err != nil {
		return nil, err
	}
	as := formOf(r.Expect)
	if as == partial {
		as = filling
	}
	got := r.Outcome.inTheFormOf(want, as)
	if reflect.DeepEqual(want, got) {
		return nil, nil
	}
	if _, expected := want["warnings"]; !expected && got["warnings"] != nil {
		got["warnings"] = reasons(got["warnings"])
	}
	if r.Expect.Exact {
		got["exact"] = true
	}
	return got, nil
}

// summary returns the fields of an outcome to expect in a new case.
func (o *Outcome) summary() map[string]any {
	kept := map[string]any{}
	for _, name := range slices.Concat(whatIsWritten, problems) {
		if value, there := o.fields[name]; there {
			kept[name] = value
		}
	}
	if value, there := kept["steps"]; there {
		kept["steps"] = steps(nil, value, partial)
	}
	if rollout, ok := kept["rollout"].(map[string]any); ok {
		rollout = maps.Clone(rollout)
		delete(rollout, "message") // it has names that are hashes
		kept["rollout"] = rollout
	}
	if warnings, there := kept["warnings"]; there {
		kept["warnings"] = reasons(warnings)
	}
	return kept
}

// reasons returns warnings without their messages, which may change.
func reasons(warnings any) any {
	var all []any
	for _, warning := range asList(warnings) {
		fields, _ := warning.(map[string]any)
		all = append(all, map[string]any{"reason": fields["reason"]})
	}
	return all
}

// replaceExpect returns the content of a file in which text replaces the field expect, or is appended if the file has
// no such field.
func replaceExpect(file, text []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(file, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode ||
		document.Content[0].Style == yaml.FlowStyle {
		return nil, errors.New("only a case in the block style of YAML can be updated")
	}
	lines := strings.SplitAfter(string(file), "\n")
	begin, end := len(lines), len(lines)
	fields := document.Content[0].Content
	for i := 0; i < len(fields); i += 2 {
		if fields[i].Value != "expect" {
			continue
		}
		begin = fields[i].Line - 1
		if i+2 < len(fields) {
			end = fields[i+2].Line - 1
			if comment := fields[i+2].HeadComment; comment != "" {
				end -= 1 + strings.Count(comment, "\n")
			}
		}
	}
	before := strings.Join(lines[:begin], "")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return []byte(before + string(text) + strings.Join(lines[end:], "")), nil
}
