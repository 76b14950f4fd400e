// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
)

// Usage is what a process takes of the machine.
type Usage struct {
	CPU          time.Duration // since it was started, in steps of 10 ms
	Resident     int64         // bytes of memory
	ResidentMost int64         // since it was started
}

// UsageOf asks the kernel, which has to be Linux.
func UsageOf(pid int) (Usage, error) {
	folder := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(folder + "status")
	if err != nil {
		return Usage{}, fmt.Errorf("read how much memory process %d occupies: %w", pid, err)
	}
	stat, err := os.ReadFile(folder + "stat")
	if err != nil {
		return Usage{}, fmt.Errorf("read how much CPU process %d has used: %w", pid, err)
	}
	var usage Usage
	for line := range strings.Lines(string(status)) {
		var kilobytes int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kilobytes); err == nil {
			usage.Resident = kilobytes << 10
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			usage.ResidentMost = kilobytes << 10
		}
	}
	if usage.Resident == 0 || usage.ResidentMost == 0 {
		return Usage{}, fmt.Errorf("%sstatus does not tell how much memory the process occupies", folder)
	}
	// The name, which is in parentheses, may hold anything. The times are the 14th and the 15th
	// field.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	var user, system int64
	if _, err := fmt.Sscan(string(fields[11])+" "+string(fields[12]), &user, &system); err != nil {
		return Usage{}, fmt.Errorf("read %sstat: %w", folder, err)
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on all that Go runs on
	usage.CPU = time.Duration(user+system) * tick
	return usage, nil
}
