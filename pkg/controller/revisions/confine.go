// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// confine returns the paths at which fields may be restored: those that both a recorded path and one
// of the controller lead to, except for what identifies a parent. A revision is an object that users
// may have written, so the paths in it prove nothing.
func confine(recorded, paths []string) [][]string {
	var confined [][]string
	for _, path := range paths {
		for _, content := range contentOf(split(path)) {
			for _, recordedPath := range recorded {
				switch within := split(recordedPath); {
				case isWithin(within, content):
					confined = append(confined, within)
				case isWithin(content, within):
					confined = append(confined, content)
				}
			}
		}
	}
	return confined
}

// Outside returns the paths that a revision records and that are not within those of the controller.
func Outside(revision *v1alpha1.ControllerRevision, paths []string) []string {
	recorded, _ := recordedPaths(revision)
	var outside []string
	for _, path := range recorded {
		if !slices.ContainsFunc(paths, func(around string) bool { return isWithin(split(path), split(around)) }) {
			outside = append(outside, path)
		}
	}
	return outside
}

// isWithin reports whether a path leads to the field at another one, or to a field in it.
func isWithin(path, around []string) bool {
	return len(path) >= len(around) && slices.Equal(path[:len(around)], around)
}

// contentOf returns the paths of what is content in the field at a path. The type of a parent is none,
// and of its metadata, only labels and annotations are.
func contentOf(path []string) [][]string {
	switch {
	case path[0] == "apiVersion", path[0] == "kind":
		return nil
	case path[0] != "metadata":
		return [][]string{path}
	case len(path) == 1:
		return [][]string{{"metadata", "labels"}, {"metadata", "annotations"}}
	case path[1] == "labels", path[1] == "annotations":
		return [][]string{path}
	}
	return nil
}
