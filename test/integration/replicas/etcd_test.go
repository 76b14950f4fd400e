// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"crypto/tls"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// etcd is a cluster of three members that take only clients with a certificate.
type etcd struct {
	testing.TB
	dir string
	// commands start the members, which are the processes that run.
	commands [][]string
	members  []*process.Process
	// clients are the addresses of the members.
	clients []string
	// flags are those by which a server finds the cluster.
	flags []string
}

func startEtcd(t testing.TB) *etcd {
	t.Helper()
	binaries, err := hostcluster.FindBinaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := &etcd{TB: t, dir: t.TempDir(), members: make([]*process.Process, 3)}
	e.issue()
	var peers, initial []string
	for i := range 3 {
		e.clients, peers = append(e.clients, address(t, "https")), append(peers, address(t, "http"))
		initial = append(initial, fmt.Sprintf("m%d=%s", i, peers[i]))
	}
	for i := range 3 {
		name := fmt.Sprint("m", i)
		e.commands = append(e.commands, []string{filepath.Join(binaries, "etcd"),
			"--name=" + name, "--data-dir=" + e.path(name), "--listen-client-urls=" + e.clients[i], "--advertise-client-urls=" + e.clients[i],
			"--listen-peer-urls=" + peers[i], "--initial-advertise-peer-urls=" + peers[i], "--initial-cluster=" + strings.Join(initial, ","),
			"--cert-file=" + e.path("server.crt"), "--key-file=" + e.path("server.key"),
			"--client-cert-auth", "--trusted-ca-file=" + e.path("ca.crt"),
			"--enable-grpc-gateway=false", "--unsafe-no-fsync", "--log-level=warn"})
		e.start(i)
	}
	t.Cleanup(func() {
		for i := range e.members {
			e.kill(i)
		}
	})
	e.flags = []string{"--etcd-servers=" + strings.Join(e.clients, ","), "--etcd-cafile=" + e.path("ca.crt"),
		"--etcd-certfile=" + e.path("client.crt"), "--etcd-keyfile=" + e.path("client.key"), "--etcd-prefix=" + e.prefix()}
	return e
}

// issue writes the certificates of an authority, the members and clients.
func (e *etcd) issue() {
	e.Helper()
	authority, err := pki.NewAuthority("etcd")
	if err != nil {
		e.Fatal(err)
	}
	serving, err := authority.Serving(net.IPv4(127, 0, 0, 1), "etcd")
	if err != nil {
		e.Fatal(err)
	}
	client, err := authority.Client("metacontroller-apiserver")
	if err != nil {
		e.Fatal(err)
	}
	e.write("ca", authority.KeyPair)
	e.write("server", serving)
	e.write("client", client)
}

func (e *etcd) write(name string, pair pki.KeyPair) {
	e.Helper()
	if err := pair.Write(e.path(name+".crt"), e.path(name+".key")); err != nil {
		e.Fatal(err)
	}
}

// start starts a member with what it has stored.
func (e *etcd) start(member int) {
	e.Helper()
	command := e.commands[member]
	started, err := process.Start("etcd", e.path(fmt.Sprintf("m%d.log", member)), exec.Command(command[0], command[1:]...))
	if err != nil {
		e.Fatal(err)
	}
	e.members[member] = started
}

// kill ends a member, if it runs.
func (e *etcd) kill(member int) {
	e.Helper()
	if e.members[member] == nil {
		return
	}
	if err := e.members[member].Kill(); err != nil {
		e.Error(err)
	}
	e.members[member] = nil
}

// tls returns what a client shows, and whom it trusts.
func (e *etcd) tls() (*tls.Config, error) {
	info := transport.TLSInfo{TrustedCAFile: e.path("ca.crt"), CertFile: e.path("client.crt"), KeyFile: e.path("client.key")}
	return info.ClientConfig()
}

func (e *etcd) prefix() string { return "/" + filepath.Base(e.dir) }

func (e *etcd) path(name string) string { return filepath.Join(e.dir, name) }

func address(t testing.TB, scheme string) string {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port)
}
