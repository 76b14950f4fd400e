// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// Metacontroller is known by its program or, if none is named, by its image. This server is another program.
func TestMetacontrollerIsRecognized(t *testing.T) {
	for name, test := range map[string]struct {
		of   corev1.Container
		want bool
	}{
		"its program":                      {corev1.Container{Command: []string{"/usr/bin/metacontroller"}, Image: "mirror/x"}, true},
		"its image":                        {corev1.Container{Image: "ghcr.io/metacontroller/metacontroller:v4.17.2"}, true},
		"its image by digest":              {corev1.Container{Image: "metacontroller@sha256:00"}, true},
		"its image from a registry's port": {corev1.Container{Image: "registry:5000/metacontroller"}, true},
		"this server's image":              {corev1.Container{Image: "metacontroller/metacontroller-apiserver:latest"}, false},
		"another program in its image":     {corev1.Container{Command: []string{"/bin/sh"}, Image: "ghcr.io/metacontroller/metacontroller:v4.17.2"}, false},
		"a hook in the same organization":  {corev1.Container{Image: "metacontroller/nodejs-server:0.1"}, false},
		"nothing":                          {corev1.Container{}, false},
		"this server's program":            {corev1.Container{Command: []string{"/metacontroller-apiserver"}}, false},
	} {
		if got := runsOriginal(test.of); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestWorkloadsAreRead(t *testing.T) {
	for text, want := range map[string]Workload{
		"": {}, "none": NoWorkload(), "statefulset/a/b": {"statefulset", "a", "b"}, "Deployment/a/b": {"deployment", "a", "b"},
	} {
		if got, err := ParseWorkload(text); err != nil || got != want {
			t.Errorf("%q is read as %v, error %v", text, got, err)
		}
	}
	for _, text := range []string{"a", "a/b", "daemonset/a/b", "statefulset//b", "statefulset/a/", "statefulset/a/b/c"} {
		if got, err := ParseWorkload(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// Flags are written in one word or two, with one dash or two; others do not count.
func TestFlagsOfMetacontroller(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want map[string]string
	}{
		"none":        {nil, defaultFlags()},
		"in one word": {[]string{"--apply-strategy=server-side-apply", "-target-label-selector=a=b"}, map[string]string{applyFlag: "server-side-apply", managerFlag: "metacontroller", targetFlag: "a=b"}},
		"in two":      {[]string{"/usr/bin/metacontroller", "--workers", "5", "--apply-strategy-ssa-field-manager", "me"}, map[string]string{applyFlag: "dynamic-apply", managerFlag: "me", targetFlag: ""}},
	} {
		if diff := cmp.Diff(test.want, flagsOf(test.args)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
