// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
)

func TestHostsInsideAndOutside(t *testing.T) {
	inside := "hooks hooks.tools hooks.tools.svc hooks.tools.svc.cluster.local hooks.tools.svc.prod.example.com hooks.corp.internal " +
		"my.laptop.local localhost a.localhost 127.0.0.1 10.1.2.3 192.168.0.1 172.31.0.1 169.254.1.1 ::1 fd00::1 hooks.tools.svc."
	for host := range strings.FieldsSeq(inside) {
		if isOutside(host) {
			t.Errorf("%s counts as outside", host)
		}
	}
	for host := range strings.FieldsSeq("example.com EXAMPLE.COM. hooks.example.com api.eu.example.org a.b.c 8.8.8.8 2001:4860:4860::8888") {
		if !isOutside(host) {
			t.Errorf("%s counts as inside", host)
		}
	}
}
