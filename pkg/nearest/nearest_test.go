// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package nearest

import (
	"strings"
	"testing"
)

func TestTo(t *testing.T) {
	for name, test := range map[string]struct {
		word       string
		candidates []string
		want       string
	}{
		"a missing letter":                    {"replica", []string{"paused", "replicas", "selector"}, "replicas"},
		"a letter too many":                   {"imagee", []string{"image", "name"}, "image"},
		"another letter":                      {"containars", []string{"containers", "initContainers"}, "containers"},
		"two letters exchanged":               {"sepc", []string{"kind", "spec"}, "spec"},
		"another case":                        {"Children", []string{"children", "status"}, "children"},
		"two mistakes in a long word":         {"deploymnets", []string{"deployments", "daemonsets"}, "deployments"},
		"letters outside of ASCII":            {"größse", []string{"größe"}, "größe"},
		"the nearer one of two":               {"port", []string{"ports", "part", "hostPort", "port"}, "port"},
		"the first one of two that are near":  {"pert", []string{"port", "part"}, "part"},
		"another word":                        {"foo", []string{"bar", "status"}, ""},
		"two mistakes in a short word":        {"kind", []string{"wins"}, ""},
		"a single letter is near to no other": {"a", []string{"b"}, ""},
		"a word that is longer than any name": {strings.Repeat("a", 101), []string{strings.Repeat("a", 101)}, ""},
		"the beginning of a name":             {"resyncPeriod", []string{"resyncPeriodSeconds", "parentResource"}, "resyncPeriodSeconds"},
		"the end of a name":                   {"selector", []string{"labelSelector", "parentResource"}, "labelSelector"},
		"a part of several names":             {"selector", []string{"annotationSelector", "labelSelector"}, ""},
		"letters that are no word of a name":  {"sync", []string{"resyncPeriodSeconds"}, ""},
		"a part that is too short":            {"url", []string{"urlOfTheHook"}, ""},
		"nothing":                             {"", []string{"a"}, ""},
		"no candidates":                       {"replica", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := To(test.word, test.candidates); got != test.want {
				t.Errorf("nearest to %q is %q, want %q", test.word, got, test.want)
			}
		})
	}
}
