// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"strings"
)

// Resident is how much memory of the machine the server occupies, in bytes.
type Resident struct {
	Now  int64
	Most int64 // since the server was started
}

// Resident asks the kernel, which has to be Linux.
func (e *Env) Resident() (Resident, error) {
	path := fmt.Sprintf("/proc/%d/status", e.Server.PID())
	status, err := os.ReadFile(path)
	if err != nil {
		return Resident{}, fmt.Errorf("read how much memory the server occupies: %w", err)
	}
	var resident Resident
	for line := range strings.Lines(string(status)) {
		var kilobytes int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kilobytes); err == nil {
			resident.Now = kilobytes << 10
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			resident.Most = kilobytes << 10
		}
	}
	if resident.Now == 0 || resident.Most == 0 {
		return Resident{}, fmt.Errorf("%s does not tell how much memory the server occupies", path)
	}
	return resident, nil
}
