// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// writable waits until a write is taken.
func writable(t *testing.T, client *clientv3.Client) {
	t.Helper()
	if err := poll.Within(t.Context(), time.Minute, func(ctx context.Context) error {
		_, err := client.Put(ctx, "again", "value")
		return err
	}); err != nil {
		t.Fatalf("writes are not taken again: %v", err)
	}
}

func TestObjectsNeverFillTheVolume(t *testing.T) {
	volume := mountVolume(t, 256*mebi)
	server := start(t, Config{DataDir: volume.data})
	if quota, want := server.keeper.quota, int64(64*mebi); quota != want {
		t.Errorf("quota is %d, want %d", quota, want)
	}
	client := connect(t, server)

	written, err := fill(t, client, server)
	wantWords(t, err, "storage is full", "database space exceeded", "64 MiB", "delete", volume.data)
	if taken, want := int64(written)*valueBytes, server.keeper.quota*8/10; taken < want {
		t.Errorf("only %d bytes of objects fit, want %d", taken, want)
	}
	if left := volume.available(); left < server.keeper.quota {
		t.Errorf("%d bytes left: no room for a copy of the database", left)
	}
	wantWords(t, server.SpaceProblem(), "storage is full")
	if alarm := gauge(gather(t, server), "metacontroller_storage_nospace_alarm"); alarm != 1 {
		t.Errorf("alarm is %f, want 1", alarm)
	}
	wantKey(t, client, "key/00000")

	for i := range written / 2 {
		if _, err := client.Delete(t.Context(), fmt.Sprintf("key/%05d", i)); err != nil {
			t.Fatalf("deleting to make room: %v", err)
		}
	}
	writable(t, client)
	if err := poll.Within(t.Context(), time.Minute, func(context.Context) error { return server.SpaceProblem() }); err != nil {
		t.Error(err)
	}
	if alarm := gauge(gather(t, server), "metacontroller_storage_nospace_alarm"); alarm != 0 {
		t.Errorf("alarm is %f, want 0", alarm)
	}
}

func TestFormerVersionsNeverFillTheDatabase(t *testing.T) {
	volume := mountVolume(t, 256*mebi)
	server := start(t, Config{DataDir: volume.data})
	client := connect(t, server)
	value := strings.Repeat("x", valueBytes)
	rounds := 5 * server.keeper.quota / valueBytes
	var longest time.Duration
	for i := range rounds {
		began := time.Now()
		if _, err := client.Put(t.Context(), fmt.Sprintf("key/%d", i%10), value); err != nil {
			t.Fatalf("write %d of %d is refused: %v", i, rounds, err)
		}
		longest = max(longest, time.Since(began))
	}
	t.Logf("%d writes, the longest took %s", rounds, longest)
}

func TestAVolumeThatSomebodyElseFillsRefusesWritesUntilThereIsSpace(t *testing.T) {
	volume := mountVolume(t, 256*mebi)
	server := start(t, Config{DataDir: volume.data})
	client := connect(t, server)
	put(t, client, "key", "value")
	holdReserve(t, server)

	free := volume.leave(server.keeper.gate.sizing.floor / 2)
	_, err := fill(t, client, server)
	wantWords(t, err, "storage is full", "of 256 MiB left", volume.data, "enlarge it")
	wantKey(t, client, "key")
	if _, err := client.Delete(t.Context(), "key/00000"); err != nil {
		t.Errorf("deleting: %v", err)
	}

	free()
	writable(t, client)
}

// holdReserve waits until the space for the next start is set aside.
func holdReserve(t *testing.T, server *Server) {
	t.Helper()
	if err := poll.Within(t.Context(), time.Minute, func(context.Context) error {
		if server.keeper.reserve.missing() > 0 {
			return errors.New("no reserve")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAFullVolumeStillStartsAndReads(t *testing.T) {
	volume := mountVolume(t, 256*mebi)
	config := Config{DataDir: volume.data}
	server := start(t, config)
	client := connect(t, server)
	for i := range 100 {
		put(t, client, fmt.Sprintf("key/%05d", i), strings.Repeat("x", valueBytes))
	}
	holdReserve(t, server)
	_ = client.Close()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}

	free := volume.leave(0)
	server = start(t, config)
	client = connect(t, server)
	wantKey(t, client, "key/00042")
	_, err := client.Put(t.Context(), "new", "value")
	wantWords(t, err, "storage is full", "enlarge it")
	wantWords(t, server.SpaceProblem(), "storage is full")
	_ = client.Close()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}

	// Once more, now that the reserve is used up.
	server = start(t, config)
	client = connect(t, server)
	wantKey(t, client, "key/00042")
	free()
	writable(t, client)
	holdReserve(t, server)
}

func TestAnEtcdThatRanOutOfSpaceStartsAgain(t *testing.T) {
	// A start takes 16 MiB more on this volume than on a disk: tmpfs keeps the pages of a hole that were mapped.
	volume := mountVolume(t, 256*mebi)
	child := startChild(t, volume.data)
	acknowledged := child.readLine(t)
	var said strings.Builder
	child.command.Stderr = &said
	for {
		if info, err := os.Stat(filepath.Join(volume.data, reserveFileName)); err == nil && allocated(info) > 0 {
			break
		}
		acknowledged = child.readLine(t)
	}
	volume.leave(0) // faster than it is measured
	for child.lines.Scan() {
		acknowledged = child.lines.Text()
	}
	_ = child.command.Wait()

	server := start(t, Config{DataDir: volume.data})
	client := connect(t, server)
	wantKey(t, client, acknowledged)
	_, err := client.Put(t.Context(), "new", "value")
	wantWords(t, err, "storage is full", "enlarge it")
}

func TestAQuotaThatDoesNotFitTheVolumeIsNamedAndDoesNoHarm(t *testing.T) {
	volume := mountVolume(t, 128*mebi)
	var log strings.Builder
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{}))
	server, err := Start(ctx, Config{DataDir: volume.data, QuotaBytes: 128 * mebi})
	if err != nil {
		t.Fatal(err)
	}
	client := connect(t, server)
	_, err = fill(t, client, server)
	wantWords(t, err, "storage is full", "of 128 MiB left")
	wantKey(t, client, "key/00000")
	_ = client.Close()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"Quota does not fit the volume", `"needs"="512 MiB"`, `"has"="128 MiB"`, `"fittingQuota"="32 MiB"`} {
		if !strings.Contains(log.String(), word) {
			t.Errorf("the log does not say %s:\n%s", word, log.String())
		}
	}
}

func TestWhatAKilledProcessLeftBehindIsRemoved(t *testing.T) {
	config := Config{DataDir: t.TempDir()}
	server := start(t, config)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	leftovers := []string{"snap/db.tmp.123456", "wal/1.tmp"}
	for _, name := range leftovers {
		if err := os.WriteFile(filepath.Join(config.DataDir, "etcd", "member", name), make([]byte, mebi), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, config)
	for _, name := range leftovers {
		if _, err := os.Stat(filepath.Join(config.DataDir, "etcd", "member", name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}
