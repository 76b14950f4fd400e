// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

func TestDataOutlivesARestart(t *testing.T) {
	dir := t.TempDir()
	server := start(t, Config{DataDir: dir})
	client := connect(t, server)
	put(t, client, "parent", "v1")
	_ = client.Close()
	if err := server.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}

	again := start(t, Config{DataDir: dir})
	value, err := get(t.Context(), connect(t, again), "parent")
	if err != nil || value != "v1" {
		t.Errorf("after the restart: value %q, error %v; want v1", value, err)
	}
}

func TestARunningServerDoesNotDependOnTheContextItWasStartedWith(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server, err := Start(ctx, Config{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	cancel()
	put(t, connect(t, server), "late", "write")
	select {
	case err := <-server.Err():
		t.Errorf("failed with its start context: %v", err)
	default:
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("told to stop")
	// The first words of etcd come in the middle of its start.
	ctx = klog.NewContext(ctx, funcr.New(func(string, string) { cancel(stop) }, funcr.Options{Verbosity: infoVerbosity}))
	config := Config{DataDir: t.TempDir()}
	if _, err := Start(ctx, config); !errors.Is(err, stop) {
		t.Errorf("error %v, want %v", err, stop)
	}
	start(t, config) // nothing of the first one is left
}

func TestOnlyTheOwnerCanReachTheStorage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	etcdDir := filepath.Join(dir, "etcd")
	// As Kubernetes leaves a directory of a volume with an fsGroup.
	if err := os.MkdirAll(etcdDir, 0o770); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(etcdDir, 0o770); err != nil {
		t.Fatal(err)
	}
	server := start(t, Config{DataDir: dir})
	wantMode(t, etcdDir, 0o700)
	if want := "unix://" + filepath.Join(etcdDir, socketName); server.Endpoint() != want {
		t.Errorf("endpoint %s, want %s", server.Endpoint(), want)
	}
	if peers := len(server.etcd.Peers); peers != 0 {
		t.Errorf("%d peer listeners, want none", peers)
	}
}

func TestALongDataDirectoryHasItsSocketElsewhere(t *testing.T) {
	t.Setenv("TMPDIR", shortTempDir(t))
	server := start(t, Config{DataDir: filepath.Join(t.TempDir(), strings.Repeat("long", 30))})
	endpoint, err := url.Parse(server.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	if len(endpoint.Path) > maxSocketPath {
		t.Errorf("socket path %s has %d bytes, more than %d", endpoint.Path, len(endpoint.Path), maxSocketPath)
	}
	dir := filepath.Dir(endpoint.Path)
	wantMode(t, dir, 0o700)
	put(t, connect(t, server), "key", "value")

	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the socket is still there: %v", err)
	}
}

func TestNoPlaceForTheSocketIsAnErrorThatSaysWhatToDo(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	_, err := Start(t.Context(), Config{DataDir: filepath.Join(long, "data")})
	wantWords(t, err, "TMPDIR")
}

func TestADataDirectoryThatCannotBeMadeIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(file, "data")
	_, err := Start(t.Context(), Config{DataDir: dir})
	wantWords(t, err, dir)
}

func TestADamagedLogIsNamed(t *testing.T) {
	dir := t.TempDir()
	server := start(t, Config{DataDir: dir})
	client := connect(t, server)
	put(t, client, "needle", "value")
	_ = client.Close()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "etcd", "member", "wal", "*.wal"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no write-ahead log: %v", err)
	}
	for _, log := range logs {
		content, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.ReplaceAll(content, []byte("needle"), []byte("noodle")) // so that a checksum is wrong
		if err := os.WriteFile(log, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Start(t.Context(), Config{DataDir: dir})
	wantWords(t, err, "crc mismatch", ".wal", dir, "is damaged", "snapshot restore --data-dir "+dir)
}

func TestADamagedDatabaseIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := start(t, Config{DataDir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(dir, "etcd", "member", "snap", "db")
	if err := os.WriteFile(database, bytes.Repeat([]byte("noodle"), 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	err := failToStart(t, os.Args[0], dir, nil)
	wantWords(t, err, "failed to open database", "is damaged", "snapshot restore --data-dir "+dir)
}

func TestAnEtcdThatEndsByItselfIsReported(t *testing.T) {
	tests := map[string]struct {
		end  func(*Server)
		want string
	}{
		"it stops": {
			end:  func(s *Server) { s.etcd.Server.HardStop() },
			want: "the embedded etcd failed: it stopped by itself",
		},
		"it finds that it cannot go on": {
			end: func(s *Server) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					s.etcd.GetLogger().Fatal("failed to save Raft hard state and entries")
				}()
				<-done
			},
			want: "the embedded etcd failed: failed to save Raft hard state and entries",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := start(t, Config{DataDir: t.TempDir()})
			test.end(server)
			select {
			case err := <-server.Err():
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %q, want %q", err, test.want)
				}
			case <-time.After(30 * time.Second):
				t.Error("no error")
			}
		})
	}
}

func TestClosingIsNoFailureAndCanBeRepeated(t *testing.T) {
	server := start(t, Config{DataDir: t.TempDir()})
	for range 2 {
		if err := server.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	select {
	case err := <-server.Err():
		t.Errorf("Close was reported as a failure: %v", err)
	default:
	}
}

func wantMode(t *testing.T, dir string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("mode of %s is %o, want %o", dir, got, want)
	}
}

// shortTempDir is a directory whose path leaves room for a socket, which t.TempDir does not
// promise.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestMetricsAreThoseOfEtcd(t *testing.T) {
	server := start(t, Config{DataDir: t.TempDir(), QuotaBytes: 64 * mebi})
	families, err := server.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "etcd_") {
			t.Errorf("foreign metric %s", family.GetName())
		}
		values[family.GetName()] = family.GetMetric()[0].GetGauge().GetValue()
	}
	if quota := values["etcd_server_quota_backend_bytes"]; quota != 64*mebi {
		t.Errorf("quota is %f", quota)
	}
	for _, name := range []string{"etcd_mvcc_db_total_size_in_bytes", "etcd_mvcc_db_total_size_in_use_in_bytes"} {
		if values[name] <= 0 {
			t.Errorf("metric %s is missing or 0", name)
		}
	}
}
