// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// memoryIsFree reports whether there is enough free memory, both of the machine and for files in
// it, and whether programs there can be run.
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
