// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A bad answer affects one parent only: an event explains the error, the children stay, and other
// parents are synced. Packages hook and protocol test what makes an answer bad.
func TestBadAnswersHarmOneParent(t *testing.T) {
	t.Parallel()
	tooLarge := append([]byte(`{"status":{"text":"`), bytes.Repeat([]byte("x"), 32<<20)...)
	tooLarge = append(tooLarge, `"}}`...)

	tests := []struct {
		name     string
		answer   hook.Answer
		says     string
		readable bool
	}{
		{"status 500", hook.Text(http.StatusInternalServerError, "no database"), "unsupported status code: 500 body: no database", false},
		{"half a JSON", hook.Text(http.StatusOK, `{"children":[{"apiVersion":"v1"`), "cannot be read", false},
		{"a body of over 32 MiB", hook.Answer{Body: tooLarge}, "--hook-max-response-bytes", false},
		{
			"a child of an undeclared type",
			hook.Text(http.StatusOK, `{"children":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"}},{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}]}`),
			`spec.childResources declares no kind "Secret" in apiVersion "v1"`,
			true,
		},
	}
	var bad atomic.Pointer[hook.Answer]
	f := start(t, func(_ context.Context, call hook.Call) hook.Answer {
		var asked request
		if err := call.Decode(&asked); err != nil {
			t.Error(err)
		}
		if answer := bad.Load(); answer != nil && strings.HasPrefix(asked.Parent.GetName(), "bad") {
			return *answer
		}
		return hook.JSON(oneConfigMap(asked))
	})
	f.CreateParent("good", object{})
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := f.in(t)
			parent := fmt.Sprintf("bad-%d", i)
			bad.Store(nil)
			f.CreateParent(parent, object{"value": "kept"})
			f.WaitForConfigMap(parent, harness.HasData("value", "kept"))
			bad.Store(&test.answer)
			f.PatchParent(parent, object{"spec": object{"value": "changed"}})

			event := env.WaitForEvent(t, f.Namespace, parent, "SyncError", test.says)
			if event.Type != corev1.EventTypeWarning || event.Source.Component != "metacontroller" {
				t.Errorf("the event should be a Warning of metacontroller, but is a %s of %s", event.Type, event.Source.Component)
			}
			f.PatchParent("good", object{"spec": object{"value": test.name}})
			f.WaitForConfigMap("good", harness.HasData("value", test.name))
			if !test.readable {
				f.WaitForConfigMap(parent, harness.HasData("value", "kept"))
			}
		})
	}
}
