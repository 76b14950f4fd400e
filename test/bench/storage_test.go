// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// BenchmarkStorage measures what ControllerRevisions of two kilobytes cost a server with an embedded
// etcd, in MiB: the database, the write-ahead log, the most that the folder of etcd has taken on the
// volume, and the memory. Each revision is updated once, as a rollout does. Then nine of ten are
// deleted, and the server is restarted, which defragments the database if that is worth it.
func BenchmarkStorage(b *testing.B) {
	for _, revisions := range []int{1_000, 10_000, 50_000} {
		b.Run(fmt.Sprintf("revisions=%d", revisions), func(b *testing.B) {
			for b.Loop() {
				store(b, revisions)
			}
		})
	}
}

func store(b *testing.B, revisions int) {
	b.Helper()
	env, err := harness.Start(b.Context(), os.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := errors.Join(env.Stop(), env.Remove()); err != nil {
			b.Error(err)
		}
	}()
	config := rest.CopyConfig(env.Config)
	config.QPS = -1
	client, err := versioned.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	stored := client.MetacontrollerV1alpha1().ControllerRevisions(env.Namespace(b))
	folder := folder{path: filepath.Join(env.Server.DataDir, "etcd")}
	stop := folder.watch(b)
	defer stop()

	forEach(b, revisions, func(ctx context.Context, number int) error {
		made, err := stored.Create(ctx, revision(number), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		made.Children[0].Names = made.Children[0].Names[1:]
		_, err = stored.Update(ctx, made, metav1.UpdateOptions{})
		return err
	})
	database, inUse := database(b, env)
	b.ReportMetric(database, "database-MiB")
	b.ReportMetric(inUse, "in-use-MiB")
	b.ReportMetric(folder.size(b, "wal"), "log-MiB")
	rested, err := (&world{env: env}).resident(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(rested, "rss-rested-MiB")
	b.ReportMetric(restartTime(b, env), "restart-s")

	forEach(b, revisions*9/10, func(ctx context.Context, number int) error {
		return stored.Delete(ctx, revision(number).Name, metav1.DeleteOptions{})
	})
	b.ReportMetric(restartTime(b, env), "restart-emptied-s")
	stop()
	b.ReportMetric(float64(folder.most.Load())/(1<<20), "volume-max-MiB")
	b.ReportMetric(0, "ns/op") // how long it takes is not what is measured
}

// forEach does something for each number, twenty at once.
func forEach(b *testing.B, count int, do func(context.Context, int) error) {
	b.Helper()
	const workers = 20
	var working sync.WaitGroup
	for worker := range workers {
		working.Go(func() {
			for number := worker; number < count; number += workers {
				if err := do(b.Context(), number); err != nil {
					b.Errorf("revision %d: %v", number, err)
					return
				}
			}
		})
	}
	working.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

func revision(number int) *v1alpha1.ControllerRevision {
	children := v1alpha1.ControllerRevisionChildren{APIGroup: "apps", Kind: "StatefulSet"}
	for child := range 10 {
		children.Names = append(children.Names, fmt.Sprintf("parent-%05d-child-%d", number, child))
	}
	return &v1alpha1.ControllerRevision{
		ObjectMeta:  metav1.ObjectMeta{Name: fmt.Sprintf("revision-%05d", number)},
		ParentPatch: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"spec":{"number":%d,"text":%q}}`, number, strings.Repeat("x", 1500))},
		Children:    []v1alpha1.ControllerRevisionChildren{children},
	}
}

// database returns the size of the database, and the part in use, in MiB.
func database(b *testing.B, env *harness.Env) (size, inUse float64) {
	b.Helper()
	families, err := env.Metrics(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	read := func(name string) float64 {
		series := families[name].GetMetric()
		if len(series) != 1 {
			b.Fatalf("%s has %d series, want 1", name, len(series))
		}
		return series[0].GetGauge().GetValue() / (1 << 20)
	}
	return read("etcd_mvcc_db_total_size_in_bytes"), read("etcd_mvcc_db_total_size_in_use_in_bytes")
}

// restartTime returns how many seconds a server takes from its start until it serves its API, with
// the defragmentation at its start.
func restartTime(b *testing.B, env *harness.Env) float64 {
	b.Helper()
	if err := env.Server.Stop(); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := env.Server.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	return time.Since(began).Seconds()
}

// folder measures what a folder takes on its volume.
type folder struct {
	path string
	most atomic.Int64
}

// watch measures the folder twenty times a second until stop is called.
func (f *folder) watch(b *testing.B) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; {
			f.most.Store(max(f.most.Load(), taken(f.path)))
			select {
			case <-ctx.Done():
				tick.Stop()
			case <-tick.C:
			}
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// size returns what the folders of one name under it take, in MiB.
func (f *folder) size(b *testing.B, name string) float64 {
	b.Helper()
	found, err := filepath.Glob(filepath.Join(f.path, "*", name))
	if err != nil || len(found) == 0 {
		b.Fatalf("no %s under %s: %v", name, f.path, err)
	}
	sum := int64(0)
	for _, path := range found {
		sum += taken(path)
	}
	return float64(sum) / (1 << 20)
}

// taken returns what the files under a path take, without those that vanish meanwhile.
func taken(path string) (bytes int64) {
	_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it has vanished
		}
		if info, err := entry.Info(); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += int64(stat.Blocks) * 512 //nolint:unconvert // not 64 bits on all systems
			}
		}
		return nil
	})
	return bytes
}
