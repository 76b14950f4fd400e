// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// mapping is a part of the address space of this process.
type mapping struct{ begin, end uintptr }

// unmapFiles lets go of the pages of files that are only read: of the program itself, most of which only the start
// needed, and of the database of the embedded etcd, which bbolt maps with all its holes. The kernel still has the
// pages, and maps those again that are used.
func unmapFiles() {
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	for _, m := range unchangedMappings(maps) {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, unix.MADV_DONTNEED); errno != 0 {
			klog.Background().V(2).Info("The pages of a file stay mapped", "err", errno)
		}
	}
}

// unchangedMappings returns the mappings of files that cannot be written and that have no page that differs from
// the file: of what the dynamic linker has relocated, nothing may be dropped. It reads the format of /proc/PID/smaps.
func unchangedMappings(smaps io.Reader) (found []mapping) {
	var at mapping
	candidate := false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		if begin, end, isRange := parseRange(fields[0]); isRange {
			at = mapping{begin, end}
			const ofFile = 6 // fields of a mapping, if it is one of a file
			candidate = len(fields) >= ofFile && strings.HasPrefix(fields[1], "r-") && strings.HasPrefix(fields[ofFile-1], "/")
			continue
		}
		// "Anonymous:" counts the pages that are no longer those of the file.
		if candidate && fields[0] == "Anonymous:" && fields[1] == "0" {
			found = append(found, at)
		}
	}
	return found
}

// parseRange reads addresses such as 00400000-02d5f000.
func parseRange(text string) (begin, end uintptr, ok bool) {
	first, last, found := strings.Cut(text, "-")
	if !found {
		return 0, 0, false
	}
	from, err := strconv.ParseUint(first, 16, 64)
	if err != nil {
		return 0, 0, false
	}
	to, err := strconv.ParseUint(last, 16, 64)
	return uintptr(from), uintptr(to), err == nil && from < to
}
