// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"k8s.io/client-go/rest"
)

func TestPlaceFor(t *testing.T) {
	for name, test := range map[string]struct {
		host, externalName string
		want               address
	}{
		"a cluster on loopback finds us on loopback": {
			host: "https://127.0.0.1:6443", want: address{bindAddress: "127.0.0.1", externalName: "localhost"}},
		"a cluster by the name localhost does too": {
			host: "https://localhost:6443", want: address{bindAddress: "127.0.0.1", externalName: "localhost"}},
		"a given name wins, and the server listens everywhere": {
			host: "https://127.0.0.1:6443", externalName: "host.example.com",
			want: address{bindAddress: "0.0.0.0", externalName: "host.example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := addressFor(&rest.Config{Host: test.host}, test.externalName)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
