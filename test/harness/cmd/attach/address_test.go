// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"strconv"
	"strings"
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

func TestRunSaysThatThePortIsTaken(t *testing.T) {
	cluster := clusterWith(t, "", "", "")
	delete(cluster.objects, apiServicePath)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	err = command(t.Context(), []string{"run", "-server", "there-is-no-such-program", "-data-dir", t.TempDir(), "-port", port}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "port "+port+" of 127.0.0.1 is taken") || !strings.Contains(err.Error(), "PORT=...") {
		t.Errorf("it ends with the error %v", err)
	}
}
