// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package helmvalues

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Convert returns the values of this server's chart that mean what values of Metacontroller's chart mean, as YAML. What has no
// meaning here is listed in comments at its beginning, with the reason.
func Convert(values []byte) ([]byte, error) {
	var from map[string]any
	if err := yaml.UnmarshalStrict(withoutTitle(values), &from); err != nil {
		return nil, fmt.Errorf("these are no values of a chart: %w", err)
	}
	c := &conversion{to: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		c.value(name, from[name])
	}
	c.addArgs()
	encoded, err := yaml.Marshal(c.to)
	if err != nil {
		return nil, err
	}
	return append([]byte(c.comments()), encoded...), nil
}

// withoutTitle returns what helm get values prints without the title that it has unless -o yaml is given.
func withoutTitle(values []byte) []byte {
	title, rest, found := bytes.Cut(values, []byte("\n"))
	if found && (bytes.Equal(title, []byte("USER-SUPPLIED VALUES:")) || bytes.Equal(title, []byte("COMPUTED VALUES:"))) {
		return rest
	}
	return values
}

// conversion is a conversion that is under way.
type conversion struct {
	to map[string]any
	// args become commandArgs: those of the values named so come last, as they count.
	args, commandArgs []string
	notes             []string
}

func (c *conversion) note(name, why string) { c.notes = append(c.notes, name+": "+why) }

// value converts a value. What is empty is what Helm takes anyway.
func (c *conversion) value(name string, value any) {
	if isEmpty(value) {
		return
	}
	if parts, ok := value.(map[string]any); ok && isGroup(name) {
		for _, part := range slices.Sorted(maps.Keys(parts)) {
			c.value(name+"."+part, parts[part])
		}
		return
	}
	if slices.Contains(kept(), name) {
		c.set(name, value)
		return
	}
	if convert, ok := converted()[name]; ok {
		convert(c, value)
		return
	}
	why, known := dropped()[name]
	if !known {
		why = "Metacontroller's chart has no such value that is known here"
	}
	if why != "" {
		c.note(name, why)
	}
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}

// isGroup reports whether a value is a map of values that are converted one by one.
func isGroup(name string) bool {
	return slices.ContainsFunc(slices.Concat(kept(), slices.Collect(maps.Keys(dropped())), slices.Collect(maps.Keys(converted()))), func(known string) bool {
		return strings.HasPrefix(known, name+".")
	})
}

// set sets a value, whose name may have one dot.
func (c *conversion) set(name string, value any) {
	group, part, isPart := strings.Cut(name, ".")
	if !isPart {
		c.to[name] = value
		return
	}
	in, ok := c.to[group].(map[string]any)
	if !ok {
		in = map[string]any{}
		c.to[group] = in
	}
	in[part] = value
}

// addArgs sets commandArgs.
func (c *conversion) addArgs() {
	if all := append(c.args, c.commandArgs...); len(all) > 0 {
		c.to["commandArgs"] = all
	}
}

// comments returns the notes.
func (c *conversion) comments() string {
	var text strings.Builder
	text.WriteString("# Values of the chart of metacontroller-apiserver, from those of Metacontroller's chart.\n")
	if len(c.notes) > 0 {
		text.WriteString("# These are left out:\n")
	}
	for _, note := range c.notes {
		fmt.Fprintf(&text, "#   %s\n", note)
	}
	return text.String()
}
