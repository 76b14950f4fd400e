// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import "os"

const (
	memory       = "/dev/shm"
	memoryNeeded = 4 << 30 // bytes; some environments run at once, of some hundred megabytes each
)

// testFolder returns the folder for the files of tests. It is in memory if there is enough and
// TMPDIR is not set. Reason: etcd waits for the disk at each write, which can take many seconds
// while a compiler keeps the disk busy.
func testFolder() string {
	if os.Getenv("TMPDIR") == "" && memoryIsFree() {
		return memory
	}
	return os.TempDir()
}
