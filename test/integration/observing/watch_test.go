// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observing

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// kubectl get -w prints a row each time that it changes.
func TestRowsAreWatched(t *testing.T) {
	f := newFixture(t, "watched")
	f.CreateParent("web", harness.Object{"children": 1})
	waitForState(&f, "web", v1alpha1.SyncStateSynced)
	f.Settle("web")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	command := env.Host.KubectlCommand(ctx, "get", "syncs", "-n", f.Namespace, "-w", "--no-headers", "--output-watch-events")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	next := func(want ...string) {
		t.Helper()
		for lines.Scan() {
			line := spaces.ReplaceAllString(lines.Text(), " ")
			if !slices.ContainsFunc(want, func(word string) bool { return !strings.Contains(line, word) }) {
				return
			}
		}
		t.Fatalf("no line has %q: %v", want, lines.Err())
	}
	next("ADDED", "cc:watched:web", "Synced 1/1")
	f.PatchParent("web", harness.Object{"spec": harness.Object{"children": 3}})
	next("MODIFIED", "cc:watched:web", "Synced 3/3")
	f.PatchParent("web", harness.Object{"spec": harness.Object{"fails": true}})
	next("MODIFIED", "cc:watched:web", "Failing 3/3")
	f.DeleteParent("web")
	next("DELETED", "cc:watched:web")
	cancel()
	_ = command.Wait() // it was told to end
}

// A list in parts, and a watch from its version, show all that there is in the end.
func TestAListInPartsAndAWatch(t *testing.T) {
	f := newFixture(t, "parts")
	for i := range 7 {
		f.CreateParent(fmt.Sprint("p", i), harness.Object{})
	}
	for i := range 7 {
		waitForState(&f, fmt.Sprint("p", i), v1alpha1.SyncStateSynced)
	}
	syncs := env.Metacontroller.MetacontrollerV1alpha1().Syncs(f.Namespace)
	var parts []int
	rows := map[string]bool{}
	options := metav1.ListOptions{Limit: 3}
	for {
		list, err := syncs.List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, len(list.Items))
		for _, row := range list.Items {
			rows[row.Spec.Parent.Name] = true
		}
		if options.Continue = list.Continue; options.Continue == "" {
			options.ResourceVersion = list.ResourceVersion
			break
		}
		if len(parts) == 1 { // after the first part
			f.DeleteParent("p0")
			f.CreateParent("new", harness.Object{})
			waitForState(&f, "new", v1alpha1.SyncStateSynced)
		}
	}
	if len(parts) != 3 || parts[0] != 3 {
		t.Errorf("the parts have %v rows", parts)
	}
	events, err := syncs.Watch(t.Context(), metav1.ListOptions{ResourceVersion: options.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	want := []string{"new", "p1", "p2", "p3", "p4", "p5", "p6"}
	for {
		if got := slices.Sorted(maps.Keys(rows)); slices.Equal(got, want) {
			return
		}
		event, ok := <-events.ResultChan()
		if !ok {
			t.Fatalf("the rows are %v, want %v", slices.Sorted(maps.Keys(rows)), want)
		}
		row := event.Object.(*v1alpha1.Sync)
		if event.Type == watch.Deleted {
			delete(rows, row.Spec.Parent.Name)
		} else {
			rows[row.Spec.Parent.Name] = true
		}
	}
}

// An informer shows what a list does, also after the server was killed and started again.
func TestAnInformerSurvivesRestarts(t *testing.T) {
	f := newFixture(t, "restarts")
	for i := range 5 {
		f.CreateParent(fmt.Sprint("p", i), harness.Object{"children": 1})
	}
	factory := externalversions.NewSharedInformerFactoryWithOptions(env.Metacontroller, 0, externalversions.WithNamespace(f.Namespace))
	informer := factory.Metacontroller().V1alpha1().Syncs().Informer()
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	defer func() {
		cancel()
		factory.Shutdown()
	}()
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer does not sync")
	}
	expectTheSame(&f, informer.GetStore())
	for i, restart := range []func(testing.TB){env.KillServer, env.StopServer} {
		restart(t)
		f.PatchParent("p1", harness.Object{"spec": harness.Object{"text": fmt.Sprint("changed while the server was away ", i)}})
		f.DeleteParent(fmt.Sprint("p", 3+i))
		env.StartServer(t)
		expectTheSame(&f, informer.GetStore())
	}
}

// expectTheSame waits until an informer shows the rows that a list does, and all of these are synced.
func expectTheSame(f *harness.Fixture, store cache.Store) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		parents, err := f.ParentClient().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		list, err := env.Metacontroller.MetacontrollerV1alpha1().Syncs(f.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		listed, informed := map[string]v1alpha1.SyncStatus{}, map[string]v1alpha1.SyncStatus{}
		for _, row := range list.Items {
			if row.Status.State != v1alpha1.SyncStateSynced {
				return fmt.Errorf("%s is %s", row.Name, row.Status.State)
			}
			listed[row.Name] = row.Status
		}
		if len(listed) != len(parents.Items) {
			return fmt.Errorf("there are %d rows of %d parents", len(listed), len(parents.Items))
		}
		for _, item := range store.List() {
			row := item.(*v1alpha1.Sync)
			informed[row.Name] = row.Status
		}
		if diff := cmp.Diff(listed, informed); diff != "" {
			return errors.New("the informer differs (-list +informer):\n" + diff)
		}
		return nil
	})
}

// A call is told when it has ended.
func TestHookCallsAreWatched(t *testing.T) {
	f := newFixture(t, "watchedcalls")
	events, err := env.Metacontroller.MetacontrollerV1alpha1().HookCalls(f.Namespace).Watch(t.Context(), metav1.ListOptions{FieldSelector: "parent=web"})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	f.CreateParent("web", harness.Object{"children": 1})
	event := <-events.ResultChan()
	call, ok := event.Object.(*v1alpha1.HookCall)
	if !ok || event.Type != watch.Added || call.Spec.Hook != "sync" || call.Status.Result != v1alpha1.HookCallSucceeded || call.Status.Code != 200 {
		t.Errorf("the first event is %+v", event)
	}
}
