// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
)

func TestHostNames(t *testing.T) {
	for name := range strings.FieldsSeq("a a.b A-b.c_d 1.2.3 xn--bcher-kva.example " + strings.Repeat("a", 63)) {
		if !isHostName(name) {
			t.Errorf("%s is no host name", name)
		}
	}
	for name := range strings.FieldsSeq(". .a a. a..b -a a-.b a! ä a/b a:1 " + strings.Repeat("a", 64) + " " + strings.Repeat("a.", 127) + "a") {
		if isHostName(name) {
			t.Errorf("%s is a host name", name)
		}
	}
}
