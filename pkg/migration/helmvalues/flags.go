// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package helmvalues

import (
	"fmt"
	"slices"
	"strings"
)

// keptFlags returns the flags of Metacontroller that mean the same here.
func keptFlags() []string {
	return []string{
		"apply-strategy", "apply-strategy-ssa-field-manager", "cache-flush-interval", "client-go-burst", "client-go-qps", "discovery-interval",
		"events-burst", "events-qps", "kubeconfig", "leader-election", "leader-election-id", "leader-election-namespace",
		"leader-election-resource-lock", "metrics-address", "pprof-address", "target-label-selector", "workers",
	}
}

// droppedFlags returns those that mean nothing here, with the reason. What nobody would miss has none.
func droppedFlags() map[string]string {
	return map[string]string{
		"health-probe-bind-address": "",
		"zap-devel":                 "set -v and --logging-format",
		"zap-stacktrace-level":      "there are no stack traces of errors",
		"zap-time-encoding":         "times are as those of Kubernetes",
	}
}

// flags converts commandArgs.
func (c *conversion) flags(value any) {
	items, ok := value.([]any)
	if !ok {
		c.note("commandArgs", "it is no list")
		return
	}
	for len(items) > 0 {
		item := fmt.Sprint(items[0])
		items = items[1:]
		name, of, hasValue := strings.Cut(strings.TrimLeft(item, "-"), "=")
		if !strings.HasPrefix(item, "-") {
			c.note("commandArgs", fmt.Sprintf("%q is no flag", item))
			continue
		}
		if !hasValue && len(items) > 0 && !strings.HasPrefix(fmt.Sprint(items[0]), "-") {
			of, items = fmt.Sprint(items[0]), items[1:]
		}
		c.commandArgs = append(c.commandArgs, c.flag("commandArgs: --"+name, name, of)...)
	}
}

// flag returns a flag as it is here. from names where it was.
func (c *conversion) flag(from, name, value string) []string {
	switch {
	case slices.Contains(keptFlags(), name):
		if value == "" {
			return []string{"--" + name}
		}
		return []string{"--" + name + "=" + value}
	case name == "zap-log-level":
		return logLevel(value)
	case name == "zap-encoder":
		if value == "console" {
			return []string{"--logging-format=text"}
		}
		return []string{"--logging-format=json"}
	}
	why, known := droppedFlags()[name]
	if !known {
		why = "Metacontroller has no such flag that is known here"
	}
	if why != "" {
		c.note(from, why)
	}
	return nil
}

// logLevel returns a level of Metacontroller's log. Its numbers are those of -v.
func logLevel(of string) []string {
	switch of {
	case "info", "error", "panic", "0":
		return nil // as by default
	case "debug":
		return []string{"-v=4"}
	}
	return []string{"-v=" + of}
}
