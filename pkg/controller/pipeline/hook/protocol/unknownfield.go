// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// UnknownField is a field of an answer that the protocol does not have. It is not read.
type UnknownField struct {
	// Path is where the field is, such as "relatedResources[0].name". A long one is cut.
	Path string
	// Meant is the name of the field that was probably meant; empty if none is alike.
	Meant string
	// MeantIsAbsent is true if the answer does not have the field that was probably meant.
	MeantIsAbsent bool
	// Wraps are the fields of the protocol that are inside of this one, if the answer has none at its
	// top, where they belong.
	Wraps []string
}

func (u *UnknownField) Error() string {
	return fmt.Sprintf("unknown field %q (%s)", u.Path, u.Advice())
}

// Advice says what to do about the field.
func (u *UnknownField) Advice() string {
	switch {
	case len(u.Wraps) > 0:
		return strings.Join(u.Wraps, " and ") + " must be at the top of the answer, not inside of this field"
	case u.Meant != "":
		return fmt.Sprintf("did you mean %q?", u.Meant)
	default:
		return "leave it out"
	}
}

// meantBy returns the known field that was probably meant by an unknown one; empty if none is alike.
func meantBy(unknown string, known []string) string {
	const (
		longestName = 40 // a longer one is no name of the protocol with a mistake in it
		telling     = 5  // so many letters tell which field is meant
	)
	if len(unknown) > longestName {
		return ""
	}
	if found := nearest.To(unknown, known); found != "" {
		return found
	}
	unknown = strings.ToLower(unknown)
	if len(unknown) < telling {
		return ""
	}
	i := slices.IndexFunc(known, func(name string) bool {
		name = strings.ToLower(name)
		return strings.Contains(name, unknown) || strings.HasPrefix(name, unknown[:telling])
	})
	if i < 0 {
		return ""
	}
	return known[i]
}

// The fields of a rule of a customize hook's answer, of a selector in it, and of an expression in
// that.
var (
	ruleFields       = []string{"apiVersion", "resource", "labelSelector", "namespaceSelector", "namespace", "names"}
	selectorFields   = []string{"matchLabels", "matchExpressions"}
	expressionFields = []string{"key", "operator", "values"}
)

// fieldsBeside returns the fields that the protocol has where the field at a path in a rule is.
func fieldsBeside(path string) []string {
	switch {
	case strings.Contains(path, "matchExpressions["):
		return expressionFields
	case strings.Contains(path, "."):
		return selectorFields
	default:
		return ruleFields
	}
}
