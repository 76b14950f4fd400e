// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import "time"

const (
	// fileTime is the format of the names of snapshots in a directory. Files with other names are neither counted nor
	// removed.
	fileTime = "metacontroller-20060102T150405.000Z.db.gz"
	// partMark is in the name of a part, which is a snapshot that is still being copied. It follows the name that the
	// file gets when it is whole, and a random text follows it.
	partMark = ".part-"
)

// fileName returns the name of a snapshot that is saved at a time.
func fileName(at time.Time) string { return at.UTC().Format(fileTime) }

// savedAt returns the time in the name of a snapshot. It returns false for a name that fileName does not give.
func savedAt(name string) (time.Time, bool) {
	at, err := time.Parse(fileTime, name)
	return at, err == nil && fileName(at) == name
}
