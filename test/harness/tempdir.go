// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import "os"

const (
	memory       = "/dev/shm"
	memoryNeeded = 4 << 30 // bytes; some environments run at once, of some hundred megabytes each
)

// testFolder is where the files of tests go. It is in memory where there is room for them, unless TMPDIR is set:
// an etcd waits for the disk at each write, and while a compiler keeps the disk busy, that can take many seconds.
func testFolder() string {
	if os.Getenv("TMPDIR") == "" && memoryIsFree() {
		return memory
	}
	return os.TempDir()
}
