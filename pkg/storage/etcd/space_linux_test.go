// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

// fill puts keys until one is refused, and returns their number and the refusal. There are as many keys as given: each
// further write makes a new version of one of them.
func fill(t *testing.T, client *clientv3.Client, keys int) (writes int, refusal error) {
	t.Helper()
	value := strings.Repeat("x", valueBytes)
	for ; ; writes++ {
		if _, err := client.Put(t.Context(), fmt.Sprintf("key/%05d", writes%keys), value); err != nil {
			return writes, err
		}
	}
}

// restart closes a server and its client, and starts another one, which logs to said.
func restart(
	t *testing.T, server *Server, client *clientv3.Client, config Config,
) (*clientv3.Client, *strings.Builder) {
	t.Helper()
	_ = client.Close()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	again, said := startLogging(t, config)
	return connect(t, again), said
}

func startLogging(t *testing.T, config Config) (*Server, *strings.Builder) {
	t.Helper()
	said := &strings.Builder{}
	log := funcr.New(func(_, args string) { said.WriteString(args + "\n") }, funcr.Options{})
	server, err := Start(klog.NewContext(t.Context(), log), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return server, said
}

func TestADatabaseThatReachedItsQuotaTakesWritesAgainAfterARestart(t *testing.T) {
	for name, test := range map[string]struct {
		keys    int // that are written, again and again
		deletes bool
		quota   int64 // after the restart
		refuses bool
		says    string
	}{
		"with former versions of a few objects": {keys: 10, quota: 16 * mebi, says: "Storage accepts writes again"},
		"when objects have been deleted":        {keys: 100_000, deletes: true, quota: 16 * mebi, says: "accepts writes again"},
		"with a larger quota":                   {keys: 100_000, quota: 32 * mebi, says: "Storage accepts writes again"},
		"unless its objects need all of it": {keys: 100_000, quota: 12 * mebi, refuses: true,
			says: "of the quota of 12 MiB: raise --etcd-quota-backend-bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{DataDir: t.TempDir(), QuotaBytes: 16 * mebi}
			server := start(t, config)
			client := connect(t, server)
			written, err := fill(t, client, test.keys)
			wantWords(t, err, "database space exceeded")
			wantKey(t, client, "key/00000")
			if test.deletes {
				for i := range written / 2 {
					if _, err := client.Delete(t.Context(), fmt.Sprintf("key/%05d", i)); err != nil {
						t.Fatalf("deleting to make room: %v", err)
					}
				}
			}
			config.QuotaBytes = test.quota
			client, said := restart(t, server, client, config)
			if _, err := client.Put(t.Context(), "again", "value"); (err != nil) != test.refuses {
				t.Errorf("a write after the restart: %v", err)
			}
			if !strings.Contains(said.String(), test.says) {
				t.Errorf("the log does not say %q:\n%s", test.says, said)
			}
			wantKey(t, client, fmt.Sprintf("key/%05d", (written-1)%test.keys))
		})
	}
}

func TestAQuotaThatIsNotBelowHalfOfTheVolumeIsLogged(t *testing.T) {
	for name, test := range map[string]struct {
		quota int64
		logs  bool
	}{
		"one below half": {quota: 120 * mebi},
		"half of it":     {quota: 128 * mebi, logs: true},
		"that of etcd":   {logs: true},
	} {
		t.Run(name, func(t *testing.T) {
			volume := mountVolume(t, 256*mebi)
			_, said := startLogging(t, Config{DataDir: volume.data, QuotaBytes: test.quota})
			if logged := strings.Contains(said.String(), "not less than half of its volume"); logged != test.logs {
				t.Errorf("logged: %v\n%s", logged, said)
			}
		})
	}
}

// Etcd ends when its volume is full. What it has acknowledged is there when there is room again.
func TestAFullVolumeLosesNothing(t *testing.T) {
	volume := mountVolume(t, 300*mebi)
	child := startChild(t, volume.data)
	acknowledged := []string{child.readLine(t)}
	free := volume.leave(0)
	for child.lines.Scan() {
		acknowledged = append(acknowledged, child.lines.Text())
	}
	_ = child.command.Wait()
	wantWords(t, errors.New(child.said.String()), "no space left on device", "the volume of "+volume.data+" is full")

	free()
	client := connect(t, start(t, Config{DataDir: volume.data}))
	for _, key := range acknowledged {
		if value, err := get(t.Context(), client, key); err != nil || value != key {
			t.Errorf("acknowledged write is lost: key %s has value %q, error %v", key, value, err)
		}
	}
}
