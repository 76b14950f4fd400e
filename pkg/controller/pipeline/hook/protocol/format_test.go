// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"
)

// inBothFormats runs each case of a table in the formats of both kinds of controllers.
func inBothFormats[T any](t *testing.T, tests map[string]T, run func(*testing.T, Format, T)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Run("composite", func(t *testing.T) { run(t, Composite(), test) })
			t.Run("decorator", func(t *testing.T) { run(t, Decorator(), test) })
		})
	}
}

// says translates the field names of the composite format into those of f.
func (f Format) says(text string) string {
	return strings.NewReplacer(`"parent":`, `"`+f.parent+`":`, `"children"`, `"`+f.children+`"`,
		"children[", f.children+"[", "children must", f.children+" must").Replace(text)
}
