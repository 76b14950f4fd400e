// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// serveUsers starts an etcd with authentication. It returns a client of the user root, and one of a user whose role permits
// only keys with the prefix.
func serveUsers(t *testing.T) (root, limited *clientv3.Client) {
	t.Helper()
	config := embed.NewConfig()
	config.Dir, config.LogLevel = newDir(t), "fatal"
	socket := url.URL{Scheme: "unix", Path: filepath.Join(newDir(t), "s")}
	config.ListenClientUrls, config.AdvertiseClientUrls, config.ListenPeerUrls = []url.URL{socket}, []url.URL{socket}, nil
	server, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	<-server.Server.ReadyNotify()
	login := func(user string) *clientv3.Client {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{socket.String()}, Username: user, Password: user, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	anybody := login("")
	for _, user := range []string{"root", "limited"} {
		_, userErr := anybody.UserAdd(t.Context(), user, user)
		_, roleErr := anybody.RoleAdd(t.Context(), user)
		_, grantErr := anybody.UserGrantRole(t.Context(), user, user)
		if userErr != nil || roleErr != nil || grantErr != nil {
			t.Fatal(userErr, roleErr, grantErr)
		}
	}
	keys := prefix + "/"
	all := clientv3.PermissionType(clientv3.PermReadWrite)
	if _, err := anybody.RoleGrantPermission(t.Context(), "limited", keys, clientv3.GetPrefixRangeEnd(keys), all); err != nil {
		t.Fatal(err)
	}
	if _, err := anybody.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return login("root"), login("limited")
}

// In an etcd with users, objects can be moved from it with the rights to their keys alone.
func TestRightsThatAreNeededInAnEtcd(t *testing.T) {
	root, limited := serveUsers(t)
	s := &storage{Client: limited, place: Place{Servers: limited.Endpoints()}, prefix: prefix + "/"}
	err := s.prepare(t.Context(), Place{DataDir: "/data"}, 10)
	if err == nil || !strings.Contains(err.Error(), "needs the role root for the move") {
		t.Errorf("the error is %v", err)
	}
	expectKeys(t, root, 0, "")

	put(t, root, 3, "old")
	if count, _, err := s.survey(t.Context()); err != nil || count != 3 {
		t.Errorf("there are %d keys, %v", count, err)
	}
	others := &storage{Client: limited, place: s.place, prefix: "/other/"}
	_, err = others.revision(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the right to read and write all keys that begin with /other/") {
		t.Errorf("the error is %v", err)
	}

	if _, err := root.Delete(t.Context(), prefix, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	if _, err := root.UserGrantRole(t.Context(), "limited", "root"); err != nil {
		t.Fatal(err)
	}
	if err := s.prepare(t.Context(), Place{DataDir: "/data"}, 1000); err != nil {
		t.Error(err)
	}
}
