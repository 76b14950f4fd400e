// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// The volume of a server is lost in the middle of a rollout, and restored from a snapshot. What was created
// after the snapshot is gone, clients that watch learn of it, and the rollout ends as if nothing had been.
func TestASnapshotIsRestoredInTheMiddleOfARollout(t *testing.T) {
	r := startRolling(t, v1alpha1.ChildUpdateRollingInPlace)
	r.startAll(3)
	seen := watchControllers(t)
	r.makeUnready("a-0", "a-1")
	r.rollOut("2")
	r.waitForVersions("2", "1", "1")
	r.waitForRevisions(2)

	path := filepath.Join(t.TempDir(), "snapshot.db")
	runServer(t, "snapshot", "save", "--kubeconfig="+env.Host.AdminKubeconfig(), path)
	r.makeReady("a-0")
	r.waitForVersions("2", "2", "1")
	later := r.CreateComposite("later-"+r.Controller.Name, r.rollingSpec(v1alpha1.ChildUpdateRollingInPlace))
	seen.waitFor(r.Controller.Name, true)
	seen.waitFor(later.Name, true)
	before := resourceVersionOf(t)

	env.KillServer(t)
	if err := os.RemoveAll(filepath.Join(env.Server.DataDir, "etcd")); err != nil {
		t.Fatal(err)
	}
	runServer(t, "snapshot", "restore", "--data-dir="+env.Server.DataDir, path)
	env.StartServer(t)

	seen.waitFor(r.Controller.Name, true)
	seen.waitFor(later.Name, false)
	expectGone(t, before)
	if after := resourceVersionOf(t); compare(t, after, before) <= 0 {
		t.Errorf("the resource version is %s after the restore, and was %s before it", after, before)
	}
	r.makeReady("a-0")
	r.waitForVersions("2", "2", "1")
	r.makeReady("a-1")
	r.waitForEnd("2", "2", "2")
}

// runServer runs a command of the server's program.
func runServer(t *testing.T, args ...string) {
	t.Helper()
	binary, err := env.ServerBinary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// watched is what a client that watches sees.
type watched struct {
	*testing.T
	store cache.Store
}

// watchControllers watches CompositeControllers until the test ends.
func watchControllers(t *testing.T) watched {
	t.Helper()
	factory := externalversions.NewSharedInformerFactory(env.Metacontroller, 0)
	informer := factory.Metacontroller().V1alpha1().CompositeControllers().Informer()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	return watched{t, informer.GetStore()}
}

// waitFor waits until a controller is seen, or is not.
func (w watched) waitFor(name string, want bool) {
	w.Helper()
	env.Eventually(w, func(context.Context) error {
		if got := slices.Contains(w.store.ListKeys(), name); got != want {
			return fmt.Errorf("%s is seen: %v, want %v", name, got, want)
		}
		return nil
	})
}

func resourceVersionOf(t *testing.T) string {
	t.Helper()
	list, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.ResourceVersion
}

func compare(t *testing.T, a, b string) int {
	t.Helper()
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return order
}

// expectGone fails the test unless a client that watches from a resource version is told to list again.
func expectGone(t *testing.T, resourceVersion string) {
	t.Helper()
	watch, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Watch(t.Context(), metav1.ListOptions{ResourceVersion: resourceVersion})
	if err == nil {
		defer watch.Stop()
		event, isOpen := <-watch.ResultChan()
		if !isOpen {
			t.Fatal("the watch has ended without an answer")
		}
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from resource version %s has got %v, want that it is gone", resourceVersion, err)
	}
}
