// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// WaitForEvent waits for an event of the host in the namespace whose object has the name and whose
// message contains the text.
func (e *Env) WaitForEvent(t testing.TB, namespace, about, reason, text string) corev1.Event {
	t.Helper()
	var found corev1.Event
	e.Eventually(t, func(ctx context.Context) error {
		events, err := e.Kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + about})
		if err != nil {
			return err
		}
		var seen []string
		for _, event := range events.Items {
			if event.Reason == reason && strings.Contains(event.Message, text) {
				found = event
				return nil
			}
			seen = append(seen, event.Reason+": "+event.Message)
		}
		return fmt.Errorf("no event %s about %s says %q; there are %q", reason, about, text, seen)
	})
	return found
}

// ExpectNoSyncErrorBut fails the test for each event SyncError about an object whose message does
// not contain the text.
func (e *Env) ExpectNoSyncErrorBut(t testing.TB, namespace, about, text string) {
	t.Helper()
	events, err := e.Kube.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + about})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		if event.Reason == "SyncError" && !strings.Contains(event.Message, text) {
			t.Errorf("there should be no such event about %s: %s", about, event.Message)
		}
	}
}

// SettleCalls is how often Settle has a sync hook called at least, and exactly if nothing else
// changes.
const SettleCalls = 2

// Settle waits until hooks were sent an object as it is now and the sync of it is over. Touch must
// write the mark into the object. Calls of customize hooks do not count.
func (e *Env) Settle(t testing.TB, touch func(mark string), hooks ...*hook.Server) {
	t.Helper()
	for range SettleCalls { // a sync of an object begins when the one before it has ended
		mark, before := Name("mark"), make([]int, len(hooks))
		for i, server := range hooks {
			before[i] = len(server.Calls())
		}
		touch(mark)
		for i, server := range hooks {
			e.Eventually(t, func(context.Context) error {
				for _, call := range server.Calls()[before[i]:] {
					if call.Path != CustomizePath && bytes.Contains(call.Body, []byte(mark)) {
						return nil
					}
				}
				return fmt.Errorf("hook %d was not sent the object with the mark %s", i, mark)
			})
		}
	}
}

// WaitForConfigMap waits until check accepts a ConfigMap, and returns it.
func (e *Env) WaitForConfigMap(t testing.TB, namespace, name string, check func(*corev1.ConfigMap) error) *corev1.ConfigMap {
	t.Helper()
	var found *corev1.ConfigMap
	e.Eventually(t, func(ctx context.Context) (err error) {
		if found, err = e.Kube.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		return check(found)
	})
	return found
}

// WaitUntilConfigMapIsGone waits until there is no ConfigMap of that name.
func (e *Env) WaitUntilConfigMapIsGone(t testing.TB, namespace, name string) {
	t.Helper()
	e.Eventually(t, func(ctx context.Context) error {
		_, err := e.Kube.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("ConfigMap %s should be gone", name), err)
	})
}

// Eventually waits until check returns nil and fails the test with its last error if that takes
// more than two minutes.
func (e *Env) Eventually(t testing.TB, check func(context.Context) error) {
	t.Helper()
	e.Within(t, deadline, check)
}

// Within is Eventually with another deadline.
func (e *Env) Within(t testing.TB, timeout time.Duration, check func(context.Context) error) {
	t.Helper()
	if err := poll.Within(t.Context(), timeout, check); err != nil {
		t.Fatal(errors.Join(err, e.exited()))
	}
}

// exited returns an error if a process of the environment has ended: no condition can come true
// then.
func (e *Env) exited() error { return errors.Join(e.Host.Exited(), e.Server.Exited()) }
