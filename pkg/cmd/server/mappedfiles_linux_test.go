// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestOnlyPagesThatAreThoseOfTheFileAreLetGo(t *testing.T) {
	const text = `00400000-02d5f000 r-xp 00000000 08:01 5 /bin/server
Rss:                 100 kB
Anonymous:             0 kB
02d5f000-05000000 r--p 00000000 08:01 5 /bin/server
Anonymous:             0 kB
05000000-05001000 r--p 00000000 08:01 5 /bin/server
Anonymous:             4 kB
05001000-05002000 rw-p 00000000 08:01 5 /bin/server
Anonymous:             0 kB
c000000000-c004000000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000001000 r--s 00000000 08:01 6 /data/etcd/member/snap/db
Anonymous:             0 kB
7f0000001000-7f0000002000 r-xp 00000000 00:00 0 [vdso]
Anonymous:             0 kB
`
	want := []mapping{{0x400000, 0x2d5f000}, {0x2d5f000, 0x5000000}, {0x7f0000000000, 0x7f0000001000}}
	if got := unchangedMappings(strings.NewReader(text)); !slices.Equal(got, want) {
		t.Errorf("%x are let go, want %x", got, want)
	}
}

func TestFilesAreUnmappedAndTheProgramGoesOn(t *testing.T) {
	before := residentOfFiles(t)
	unmapFiles()
	if after := residentOfFiles(t); after >= before/2 {
		t.Errorf("%d KiB of files were mapped before, and %d are after", before, after)
	}
}

// residentOfFiles returns how many KiB of files are mapped and in memory.
func residentOfFiles(t *testing.T) (kibibytes int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "RssFile:"); found {
			if _, err := fmt.Sscan(rest, &kibibytes); err != nil {
				t.Fatal(err)
			}
			return kibibytes
		}
	}
	t.Fatal("there is no RssFile")
	return 0
}
