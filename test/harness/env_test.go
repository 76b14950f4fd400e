// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADataRaceInTheServersLogIsAnError(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("I1121 all is well\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RaceFree(log); err != nil {
		t.Errorf("got %v from a log without a race", err)
	}
	if err := os.WriteFile(log, []byte("==================\nWARNING: DATA RACE\nWrite at 0x00c0 by goroutine 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RaceFree(log); err == nil || !strings.Contains(err.Error(), "goroutine 7") {
		t.Errorf("got %v, want the report", err)
	}
}
