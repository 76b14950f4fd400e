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

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
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
