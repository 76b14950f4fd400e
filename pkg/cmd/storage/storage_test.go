// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"os"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

func run(t *testing.T, args ...string) (stderr string, err error) {
	t.Helper()
	var out bytes.Buffer
	command := NewCommand()
	command.SetArgs(append([]string{"move"}, args...))
	command.SetErr(&out)
	command.SilenceErrors = true
	err = command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestPlacesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		args  []string
		words string
	}{
		"no place":            {nil, "--from and --to are needed"},
		"one place":           {[]string{"--from=/data"}, "--from and --to are needed"},
		"two directories":     {[]string{"--from=/data", "--to=/other"}, "copy a data directory by a snapshot"},
		"two etcds":           {[]string{"--from=https://a", "--to=https://b"}, "one must be a data directory"},
		"no such certificate": {[]string{"--from=/data", "--to=https://b", "--etcd-cafile=/none"}, "certificates for https://b"},
		"no such directory":   {[]string{"--from=/none", "--to=https://b"}, "move from /none to https://b: data directory /none has no storage"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := run(t, test.args...); err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("the error is %v, want %q in it", err, test.words)
			}
		})
	}
}

func TestAMoveSaysWhatItHasDone(t *testing.T) {
	from, other := newDir(t), newDir(t)
	client, stop := serve(t, from)
	if _, err := client.Put(t.Context(), "/mine/key", "value"); err != nil {
		t.Fatal(err)
	}
	stop()
	theirs, stop := serve(t, other)
	defer stop()
	to := theirs.Endpoints()[0]
	said, err := run(t, "--from="+from, "--to="+to, "--etcd-prefix=/mine")
	if err != nil || !strings.HasPrefix(said, "Moved 1 objects from "+from+" to "+to+". Resource versions were at 2, and are at ") {
		t.Errorf("the command says %q, %v", said, err)
	}
	if found, err := theirs.Get(t.Context(), "/mine/key"); err != nil || len(found.Kvs) != 1 {
		t.Errorf("moved is %v, %v", found, err)
	}
}

func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "m") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func serve(t *testing.T, dataDir string) (client *clientv3.Client, stop func()) {
	t.Helper()
	server, err := etcd.Start(t.Context(), etcd.Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	client, err = clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	return client, func() {
		_ = client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}
