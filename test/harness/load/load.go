// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	client "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/typed/metacontroller/v1alpha1"
)

// writers is how many clients write. They share one connection if it is of HTTP/2.
const writers = 4

// Load is clients that use ControllerRevisions in the namespace default. None of their requests may fail.
type Load struct {
	testing.TB
	cancel  context.CancelFunc
	running sync.WaitGroup
	rounds  atomic.Int64
	events  atomic.Int64
}

// Start starts the clients.
func Start(t testing.TB, config *rest.Config) *Load {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	set, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	revisions := set.MetacontrollerV1alpha1().ControllerRevisions(metav1.NamespaceDefault)
	ctx, cancel := context.WithCancel(t.Context())
	l := &Load{TB: t, cancel: cancel}
	for i := range writers {
		l.running.Go(func() { l.repeat(ctx, func() error { return l.write(ctx, revisions, fmt.Sprint("load-", i)) }) })
	}
	l.running.Go(func() { l.repeat(ctx, func() error { return l.watch(ctx, revisions) }) })
	return l
}

// Rounds returns how many times clients have made, read, listed, changed and deleted an object.
func (l *Load) Rounds() int { return int(l.rounds.Load()) }

// End ends the clients.
func (l *Load) End() {
	l.Helper()
	l.cancel()
	l.running.Wait()
	l.Logf("%d rounds of requests, %d events of watches", l.rounds.Load(), l.events.Load())
	if l.rounds.Load() == 0 || l.events.Load() == 0 {
		l.Error("nothing was asked")
	}
}

// repeat does something again and again until the load ends, and fails the test for each error.
func (l *Load) repeat(ctx context.Context, do func() error) {
	for ctx.Err() == nil {
		if err := do(); err != nil && ctx.Err() == nil {
			l.Errorf("%s: %v", time.Now().Format(time.TimeOnly), err)
		}
	}
}

// write creates an object, and reads, lists, changes and deletes it.
func (l *Load) write(ctx context.Context, revisions client.ControllerRevisionInterface, name string) error {
	revision := &v1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name}, ParentPatch: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
	}
	if _, err := revisions.Create(ctx, revision, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return told("create", err)
	}
	if _, err := revisions.Get(ctx, name, metav1.GetOptions{}); err != nil {
		return told("get", err)
	}
	if _, err := revisions.List(ctx, metav1.ListOptions{}); err != nil {
		return told("list", err)
	}
	if _, err := revisions.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		return told("patch", err)
	}
	if err := revisions.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return told("delete", err)
	}
	l.rounds.Add(1)
	return nil
}

// watch watches until the server ends the watch, which it does when it stops.
func (l *Load) watch(ctx context.Context, revisions client.ControllerRevisionInterface) error {
	watch, err := revisions.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return told("watch", err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if err := apierrors.FromObject(event.Object); event.Type == "ERROR" {
			return told("watch", err)
		}
		l.events.Add(1)
	}
	return nil
}

// told names the verb that failed. If the answer was not one of the API, it adds the text of the answer, which client-go hides.
func told(verb string, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		return fmt.Errorf("%s: %w: %v", verb, err, status.Status().Details.Causes)
	}
	return fmt.Errorf("%s: %w", verb, err)
}
