// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
)

// As docs/install.md says: a member is made of a snapshot, and a data directory of a snapshot of that etcd.
func TestObjectsMoveToAnExternalEtcdAndBack(t *testing.T) {
	clients := newClientAuthority(t)
	embedded := serverConfig{dataDir: newDataDir(t), clientCA: clients.file}
	server := start(t, embedded)
	saved := filepath.Join(t.TempDir(), "saved.db")
	versions := []int64{createController(t, server, clients, "first")}
	body, _ := mustGet(t, server.client(t, clients.admin(t)), server.url(SnapshotPath), 200)
	writeFile(t, saved, []byte(body))
	if err := server.shutDown(t); err != nil {
		t.Fatal(err)
	}

	member := newMember(t, saved)
	external := serverConfig{dataDir: newDataDir(t), clientCA: clients.file, given: []string{"shutdown-delay-duration"}}
	external.options = func(o *Options) {
		o.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{member.String()}
	}
	server = start(t, external)
	wantControllers(t, server, clients, "first")
	versions = append(versions, createController(t, server, clients, "second"))
	back := saveMember(t, member)
	if err := server.shutDown(t); err != nil {
		t.Fatal(err)
	}

	if _, err := etcd.Restore(back, embedded.dataDir); err != nil {
		t.Fatal(err)
	}
	server = start(t, embedded)
	wantControllers(t, server, clients, "first", "second")
	versions = append(versions, createController(t, server, clients, "third"))
	if versions[0] >= versions[1] || versions[1] >= versions[2] {
		t.Errorf("resource versions are %v, want rising ones", versions)
	}
}

// createController returns the resource version of a new controller.
func createController(t *testing.T, server *testServer, clients *clientAuthority, name string) int64 {
	t.Helper()
	created, err := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
		Create(t.Context(), newController(name), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	version, err := strconv.ParseInt(created.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func wantControllers(t *testing.T, server *testServer, clients *clientAuthority, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
			Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// newMember starts an etcd with default settings, whose data etcdutl has made of a snapshot.
func newMember(t *testing.T, saved string) *url.URL {
	t.Helper()
	config := embed.NewConfig()
	config.Dir = filepath.Join(t.TempDir(), "member")
	config.Logger, config.LogLevel = "zap", "error"
	config.ListenClientUrls, config.ListenPeerUrls = []url.URL{freeURL(t)}, []url.URL{freeURL(t)}
	config.AdvertiseClientUrls, config.AdvertisePeerUrls = config.ListenClientUrls, config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	if err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: saved, OutputDataDir: config.Dir, Name: config.Name,
		PeerURLs:       []string{config.AdvertisePeerUrls[0].String()},
		InitialCluster: config.InitialCluster, InitialClusterToken: config.InitialClusterToken,
		RevisionBump: 1_000_000_000, MarkCompacted: true,
	}); err != nil {
		t.Fatal(err)
	}
	member, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Close)
	<-member.Server.ReadyNotify()
	return &config.ListenClientUrls[0]
}

func freeURL(t *testing.T) url.URL {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return url.URL{Scheme: "http", Host: listener.Addr().String()}
}

// saveMember does what `etcdctl snapshot save` does.
func saveMember(t *testing.T, member *url.URL) (path string) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{member.String()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	saved, err := client.SnapshotWithVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = saved.Snapshot.Close() }()
	file, err := os.Create(filepath.Join(t.TempDir(), "member.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, saved.Snapshot); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// The etcd comes to accept certificates of another authority only. docs/scaling.md promises that this needs no restart.
func TestClientCertificatesForEtcdAreReplacedWithoutARestart(t *testing.T) {
	dir, clients := newDataDir(t), newClientAuthority(t)
	serving := newAuthorityIn(t, dir, "serving")
	pair, err := serving.Serving(net.IPv4(127, 0, 0, 1), "localhost")
	if err != nil || pair.Write(filepath.Join(dir, "serving.crt"), filepath.Join(dir, "serving.key")) != nil {
		t.Fatal(err)
	}
	certificate, key := filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key")
	issueFrom := func(authority string) {
		pair, err := newAuthorityIn(t, dir, authority).Client("server")
		if err != nil || pair.Write(certificate, key) != nil {
			t.Fatal(err)
		}
	}
	at := freeURL(t)
	at.Scheme = "https"
	member := embed.NewConfig()
	member.Dir = filepath.Join(dir, "member")
	member.Logger, member.LogLevel = "zap", "error"
	member.ListenClientUrls, member.AdvertiseClientUrls = []url.URL{at}, []url.URL{at}
	member.ListenPeerUrls = nil
	member.ClientTLSInfo = transport.TLSInfo{CertFile: filepath.Join(dir, "serving.crt"),
		KeyFile: filepath.Join(dir, "serving.key"), ClientCertAuth: true}
	run := func(authority string) *embed.Etcd {
		member.ClientTLSInfo.TrustedCAFile = filepath.Join(dir, authority+".ca")
		started, err := embed.StartEtcd(member)
		if err != nil {
			t.Fatal(err)
		}
		<-started.Server.ReadyNotify()
		return started
	}
	issueFrom("before")
	former := run("before")
	config := serverConfig{dataDir: newDataDir(t), clientCA: clients.file, given: []string{"shutdown-delay-duration"}}
	config.options = func(o *Options) {
		o.Recommended.Etcd.StorageConfig.Transport = storagebackend.TransportConfig{ServerList: []string{at.String()},
			TrustedCAFile: filepath.Join(dir, "serving.ca"), CertFile: certificate, KeyFile: key}
	}
	server := start(t, config)
	createController(t, server, clients, "first")
	former.Close()
	issueFrom("after")
	t.Cleanup(run("after").Close)
	eventually(t, func() error {
		_, err := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().
			Create(t.Context(), newController("second"), metav1.CreateOptions{})
		return err
	})
}

// newAuthorityIn writes the certificate of a new authority into a file.
func newAuthorityIn(t *testing.T, dir, name string) *pki.Authority {
	t.Helper()
	authority, err := pki.NewAuthority(name)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, name+".ca"), authority.Cert)
	return authority
}
