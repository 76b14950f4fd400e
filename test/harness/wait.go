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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
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

// ExpectNoSyncErrorBut checks that no event SyncError about an object says anything else.
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

// SettleCalls are the calls of a hook that Settle leads to at least, and if nothing else changes exactly.
const SettleCalls = 2

// Settle waits until a hook was shown an object as it is, and what came of it is over. For that it has the object marked by touch.
func (e *Env) Settle(t testing.TB, server *hook.Server, touch func(mark string)) {
	t.Helper()
	for range SettleCalls { // no sync begins before the one before it has ended
		mark, before := Name("mark"), len(server.Calls())
		touch(mark)
		e.Eventually(t, func(context.Context) error {
			for _, call := range server.Calls()[before:] {
				if bytes.Contains(call.Body, []byte(mark)) {
					return nil
				}
			}
			return fmt.Errorf("the hook was not shown the object with the mark %s", mark)
		})
	}
}

// WaitForConfigMap waits until a ConfigMap is there and as it should be.
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
