// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// A name conflict is reported and the other object is left alone. When the name becomes free, the
// child is created at once and not at the next retry.
func TestQ14ANameThatBecomesFreeIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"value": "theirs"}}
	if _, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.CreateParent("a", object{"value": "ours"})
	event := env.WaitForEvent(t, f.Namespace, "a", "ChildNameTaken",
		"ConfigMap "+f.Namespace+"/a (of no controller) exists and is not this object's child")
	if event.Type != corev1.EventTypeWarning {
		t.Errorf("the event is a %s", event.Type)
	}
	f.waitUntilObserved("a", 1)

	// The delays double: after so many tries the next one comes more than five seconds later.
	const tries = 11
	created := func(code int32) (times []metav1.MicroTime) {
		t.Helper()
		events := env.AuditEvents(t, 0, hostcluster.Request{
			Verbs: []string{"create"}, Resource: "configmaps", Namespace: f.Namespace,
		})
		for _, event := range events {
			if event.ResponseStatus.Code == code {
				times = append(times, event.RequestReceivedTimestamp)
			}
		}
		return times
	}
	env.Eventually(t, func(context.Context) error {
		if count := len(created(http.StatusConflict)); count < tries {
			return fmt.Errorf("the child was tried %d times, want %d", count, tries)
		}
		return nil
	})
	f.WaitForConfigMap("a", harness.HasData("value", "theirs"))
	deleted := time.Now()
	f.DeleteConfigMap("a")
	f.WaitForConfigMap("a", harness.HasData("value", "ours"))
	if waited := created(http.StatusCreated)[0].Sub(deleted); waited > 3*time.Second {
		t.Errorf("the child was created %s after its name had become free", waited)
	}
}
