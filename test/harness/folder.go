// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

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

// memoryIsFree tells whether what is needed is left both of the machine's memory and of the part of it that files may
// take, and whether a server that is built there can be run.
func memoryIsFree() bool {
	var files unix.Statfs_t
	if unix.Statfs(memory, &files) != nil || files.Flags&unix.ST_NOEXEC != 0 || files.Bavail*uint64(files.Bsize) < memoryNeeded {
		return false
	}
	processes, err := procfs.NewDefaultFS()
	if err != nil {
		return false
	}
	machine, err := processes.Meminfo()
	return err == nil && machine.MemAvailableBytes != nil && *machine.MemAvailableBytes >= memoryNeeded
}
