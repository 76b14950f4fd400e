// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/operators"

	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

var (
	undeclared     = regexp.MustCompile(`^undeclared reference to '([^']*)' \(in container ''\)$`)
	undefinedField = regexp.MustCompile(`^undefined field '([^']*)'$`)
	unexpected     = regexp.MustCompile(`^Syntax error: (?:mismatched|extraneous) input '(.*)' expecting .*$`)
	otherArgument  = regexp.MustCompile(`^found no matching overload for '([^']*)' applied to '(.*)'$`)
)

// namesake returns the name that other hooks have for the variable that name is in this one.
func namesake(name string) string {
	switch name {
	case "parent":
		return "object"
	case "object":
		return "parent"
	case "children":
		return "attachments"
	case "attachments":
		return "children"
	}
	return ""
}

// explain returns a message of the compiler about an expression in other words, with the name that was probably meant.
func (l *language) explain(message, source string) string {
	if found := undeclared.FindStringSubmatch(message); found != nil {
		name := found[1]
		message = fmt.Sprintf("undeclared reference to '%s'", name)
		if strings.Contains(source, name+"(") {
			message = fmt.Sprintf("no function %s takes these arguments", name)
			if meant := nearest.To(name, slices.Collect(maps.Keys(l.env.Functions()))); meant != "" {
				return message + "; did you mean " + meant + "?"
			}
			return message
		}
		meant := nearest.To(name, l.names)
		if other := namesake(name); slices.Contains(l.names, other) {
			meant = other
		}
		if meant != "" {
			return message + "; did you mean " + meant + "?"
		}
		return message + "; the known names are " + strings.Join(l.names, ", ")
	}
	message = unexpected.ReplaceAllString(message, "Syntax error: unexpected '$1'")
	message = strings.ReplaceAll(message, "'<EOF>'", "end of the expression")
	if found := otherArgument.FindStringSubmatch(message); found != nil {
		switch name := strings.Trim(found[1], "_@"); {
		case found[1] == operators.Conditional:
			return fmt.Sprintf("a ? b : c does not take %s; dyn(b) and dyn(c) may have different types", found[2])
		case name != found[1]:
			return fmt.Sprintf("%s does not take %s; string(x), int(x) and double(x) convert", name, found[2])
		default:
			return fmt.Sprintf("%s does not take %s", name, found[2])
		}
	}
	if found := undefinedField.FindStringSubmatch(message); found != nil {
		message = fmt.Sprintf("no variable %s is defined before this", found[1])
		if meant := nearest.To(found[1], slices.Collect(maps.Keys(l.variables.Fields))); meant != "" {
			return message + "; did you mean " + meant + "?"
		}
	}
	return message
}
