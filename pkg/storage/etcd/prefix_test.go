// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import "testing"

func TestWhatAllKeysBeginWith(t *testing.T) {
	for given, want := range map[string]string{
		"/mine": "/mine/", "mine": "/mine/", "/mine/": "/mine/", "//mine//of/": "/mine/of/", "/": "/", "": "/",
	} {
		if got := KeyPrefix(given); got != want {
			t.Errorf("with the prefix %q it is %q, want %q", given, got, want)
		}
	}
}
