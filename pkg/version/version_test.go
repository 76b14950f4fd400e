// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime/debug"
	"testing"
)

func TestABuildInOneLine(t *testing.T) {
	tests := map[string]struct {
		info Info
		want string
	}{
		"a release": {
			info: Info{Version: "v1.2.3", Commit: "abc", GoVersion: "go1.26.0", Platform: "linux/amd64"},
			want: "v1.2.3 (abc) go1.26.0 linux/amd64",
		},
		"a build outside Git": {
			info: Info{Version: "devel", GoVersion: "go1.26.0", Platform: "linux/amd64"},
			want: "devel go1.26.0 linux/amd64",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.info.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheCommitSaysIfThereWereChangesBesides(t *testing.T) {
	tests := map[string]struct {
		settings []debug.BuildSetting
		want     string
	}{
		"clean":       {[]debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}, "abc"},
		"changed":     {[]debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}, "abc-dirty"},
		"outside Git": {nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := commit(test.settings); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnyBuildHasAVersion(t *testing.T) {
	if info := Get(); info.Version == "" || info.GoVersion == "" || info.Platform == "" {
		t.Errorf("incomplete: %+v", info)
	}
}
