// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// change prints a field before and after as lines of a diff. Two long texts, such as a file in a ConfigMap, are
// compared line by line.
func (p *printer) change(change *v1alpha1.ReviewedChange) {
	from, to := lines(change.Path, change.From), lines(change.Path, change.To)
	if len(from) > 1 && len(to) > 1 {
		difference(from, to, p.diffLine)
		return
	}
	for _, line := range from {
		p.diffLine('-', line)
	}
	for _, line := range to {
		p.diffLine('+', line)
	}
}

func (p *printer) diffLine(sign byte, text string) {
	line := string(sign) + "   " + text
	switch sign {
	case '+':
		line = p.Added(line)
	case '-':
		line = p.Removed(line)
	}
	p.line(line)
}

// lines returns a value as lines of YAML behind the path of its field. All of an object has no path.
func lines(path string, value *v1alpha1.JSONValue) []string {
	if value == nil {
		return nil
	}
	text, err := yaml.JSONToYAML(value.Raw)
	if err != nil {
		text = value.Raw
	}
	of := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if path == "" {
		return of
	}
	if len(of) == 1 && !strings.HasPrefix(of[0], "- ") && !isMember(value.Raw) {
		return []string{path + ": " + of[0]}
	}
	if strings.HasPrefix(of[0], "|") || strings.HasPrefix(of[0], ">") {
		return append([]string{path + ": " + of[0]}, of[1:]...)
	}
	nested := []string{path + ":"}
	for _, line := range of {
		nested = append(nested, "  "+line)
	}
	return nested
}

// isMember reports whether a value is an object that is not empty.
func isMember(raw []byte) bool {
	text := strings.TrimSpace(string(raw))
	return strings.HasPrefix(text, "{") && text != "{}"
}
