// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2"
)

const (
	childWriters = 8
	childReady   = "ready"
)

// serveAndWrite is the child: it starts an etcd, and writes into it from several clients, as fast
// as it acknowledges. Each acknowledged key is a line of the output. It ends only by being killed,
// or when its parent no longer reads.
func serveAndWrite(dir string) error {
	server, err := Start(context.Background(), Config{DataDir: dir})
	if err != nil {
		return err
	}
	fmt.Println(childReady)

	stopped := make(chan struct{})
	var writers sync.WaitGroup
	for writer := range childWriters {
		writers.Go(func() {
			client, err := newClient(server)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d/%d/%d", os.Getpid(), writer, i)
				if _, err := client.Put(context.Background(), key, key); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				// One write a line: lines of several writers do not mix, and none is half there.
				if _, err := os.Stdout.WriteString(key + "\n"); err != nil {
					return
				}
			}
		})
	}
	go func() {
		defer close(stopped)
		writers.Wait()
	}()
	select {
	case err := <-server.Err():
		return err
	case <-stopped:
		return errors.New("no writer is left")
	}
}

// child is a process of the test binary that runs serveAndWrite.
type child struct {
	command *exec.Cmd
	lines   *bufio.Scanner
	// said is its standard error, once it has ended.
	said strings.Builder
}

func startChild(t *testing.T, dir string) *child {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childDataDir+"="+dir)
	c := &child{command: command}
	command.Stderr = io.MultiWriter(os.Stderr, &c.said)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(output)
	t.Cleanup(c.kill)
	if line := c.readLine(t); line != childReady {
		t.Fatalf("first line of the child is %q, want %q", line, childReady)
	}
	return c
}

// failToStart returns what a child says that cannot start. The program is the test binary, by a path
// that the child's user can reach.
func failToStart(t *testing.T, program, dir string, attributes *syscall.SysProcAttr) error {
	t.Helper()
	command := exec.Command(program)
	command.Env = []string{childDataDir + "=" + dir}
	command.SysProcAttr = attributes
	var said strings.Builder
	command.Stderr = &said
	if err := command.Run(); err == nil {
		t.Fatal("it started")
	}
	return errors.New(said.String())
}

func (c *child) readLine(t *testing.T) string {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatalf("the child ended: %v", errors.Join(c.lines.Err(), io.ErrUnexpectedEOF))
	}
	return c.lines.Text()
}

// kill is kill -9: nothing is flushed or closed.
func (c *child) kill() {
	_ = c.command.Process.Kill()
	_ = c.command.Wait()
}

func TestKillLosesNoAcknowledgedWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	const kills, writesBeforeKill = 4, 500

	var acknowledged []string
	for range kills {
		child := startChild(t, dir)
		for range writesBeforeKill {
			acknowledged = append(acknowledged, child.readLine(t))
		}
		if err := child.command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for child.lines.Scan() { // what it acknowledged until it died
			acknowledged = append(acknowledged, child.lines.Text())
		}
		child.kill()
	}

	client := connect(t, start(t, Config{DataDir: dir}))
	for _, key := range acknowledged {
		if value, err := get(t.Context(), client, key); err != nil || value != key {
			t.Errorf("acknowledged write is lost: key %s has value %q, error %v", key, value, err)
		}
	}
}

func TestASecondProcessFailsAtOnceAndNamesTheFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	child := startChild(t, dir)

	_, err := Start(t.Context(), Config{DataDir: dir})
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("error %v, want a LockedError", err)
	}
	for _, want := range []string{filepath.Join(dir, "lock"), "process " + strconv.Itoa(child.command.Process.Pid) + " "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %q", err, want)
		}
	}

	child.kill()
	start(t, Config{DataDir: dir}) // the lock went with its holder
}

func TestASecondServerInOneProcessFailsAtOnceToo(t *testing.T) {
	dir := t.TempDir()
	start(t, Config{DataDir: dir})
	_, err := Start(t.Context(), Config{DataDir: dir})
	if want := "process " + strconv.Itoa(os.Getpid()) + " "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one that names %q", err, want)
	}
}

// A process that is killed in the first milliseconds of its life leaves a log without entries, with which etcd would
// wait for other members.
func TestAStorageWhoseFirstStartWasKilledStarts(t *testing.T) {
	dir := t.TempDir()
	etcdDir := storageOf(dir)
	if err := prepareStorage(klog.Background(), etcdDir); err != nil {
		t.Fatal(err)
	}
	metadata, err := proto.Marshal(&etcdserverpb.Metadata{NodeID: new(uint64(1)), ClusterID: new(uint64(2))})
	if err != nil {
		t.Fatal(err)
	}
	log, err := wal.Create(nil, filepath.Join(memberOf(etcdDir), "wal"), metadata)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	server := start(t, Config{DataDir: dir})
	put(t, connect(t, server), "key", "value")
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	wantKey(t, connect(t, start(t, Config{DataDir: dir})), "key") // no later start takes it for a first one
}

func TestTheCopyOfADefragmentationThatWasKilledIsRemoved(t *testing.T) {
	config := Config{DataDir: t.TempDir()}
	if err := start(t, config).Close(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(memberOf(storageOf(config.DataDir)), "snap", "db.tmp.123456")
	if err := os.WriteFile(left, make([]byte, mebi), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, config)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

// Somebody restores a snapshot by hand, by etcdutl, after the first start was killed.
func TestAStorageThatWasPutThereAfterAFirstStartIsNotRemoved(t *testing.T) {
	dir := shortTempDir(t)
	ended(t, dir, func(_ *Server, client *clientv3.Client) { put(t, client, "key", "value") })
	mark := filepath.Join(storageOf(dir), firstStartName)
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{DataDir: dir})
	if err == nil || !strings.Contains(err.Error(), memberOf(storageOf(dir))+" has data") {
		t.Fatalf("the error is %v", err)
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	wantKey(t, connect(t, start(t, Config{DataDir: dir})), "key")
}
