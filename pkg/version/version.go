// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// These are set when an image or a release is built, by
// -ldflags "-X github.com/metacontroller/metacontroller-apiserver/pkg/version.gitVersion=v1.2.3".
var gitVersion, gitCommit string

// Info is a build of metacontroller-apiserver.
type Info struct {
	// Version is the version of the release, or the commit if there is no release, or "devel".
	Version string
	// Commit is the Git commit of the build, with the suffix "-dirty" if the working tree had uncommitted changes, or
	// "" if it is unknown.
	Commit string
	// GoVersion is the version of Go it was built with.
	GoVersion string
	// Platform is the operating system and architecture it was built for, such as "linux/amd64".
	Platform string
}

// Get returns the build that is running.
func Get() Info {
	info := Info{
		Version:   gitVersion,
		Commit:    gitCommit,
		GoVersion: runtime.Version(),
		Platform:  runtime.GOOS + "/" + runtime.GOARCH,
	}
	build, ok := debug.ReadBuildInfo()
	if ok {
		if info.Commit == "" {
			info.Commit = commit(build.Settings)
		}
		if info.Version == "" {
			info.Version = build.Main.Version
		}
	}
	if info.Version == "" || info.Version == "(devel)" {
		info.Version = "devel"
	}
	return info
}

// String returns a description of the build on one line.
func (i Info) String() string {
	text := i.Version
	if i.Commit != "" {
		text += " (" + i.Commit + ")"
	}
	return fmt.Sprintf("%s %s %s", text, i.GoVersion, i.Platform)
}

func commit(settings []debug.BuildSetting) string {
	var revision, dirty string
	for _, setting := range settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}
