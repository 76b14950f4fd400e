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
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A bad answer affects one parent only: an event explains the error, the children stay, and other
// parents are synced.
func TestBadAnswersHarmOneParent(t *testing.T) {
	t.Parallel()
	huge := append([]byte(`{"status":{"text":"`), bytes.Repeat([]byte("x"), 100<<20)...)
	huge = append(huge, `"}}`...)

	tests := []struct {
		name     string
		answer   hook.Answer
		says     string
		readable bool
	}{
		{"status 500", hook.Text(http.StatusInternalServerError, "no database"), "unsupported status code: 500 body: no database", false},
		{"status 204", hook.Text(http.StatusNoContent, ""), "unsupported status code: 204", false},
		{"an HTML page", hook.Text(http.StatusOK, "<html>Welcome</html>"), `it must be a JSON object, but it is "<html>Welcome</html>"`, false},
		{"a list", hook.Text(http.StatusOK, "[]"), "it must be a JSON object", false},
		{"half a JSON", hook.Text(http.StatusOK, `{"children":[{"apiVersion":"v1"`), "cannot be read", false},
		{"nothing", hook.Text(http.StatusOK, ""), "it is empty", false},
		{"a status that is a string", hook.Text(http.StatusOK, `{"status":"fine"}`), `status must be a JSON object`, false},
		{"a null child", hook.Text(http.StatusOK, `{"children":[null]}`), `children[0] is null`, false},
		{"a child without kind", hook.Text(http.StatusOK, `{"children":[{"apiVersion":"v1","metadata":{"name":"a"}}]}`), "children[0] has no kind", false},
		{"a body of 100 MB", hook.Answer{Body: huge}, "--hook-max-response-bytes", false},
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

func TestTimeoutIsReported(t *testing.T) {
	t.Parallel()
	f := start(t, func(ctx context.Context, _ hook.Call) hook.Answer {
		<-ctx.Done()
		return hook.Answer{}
	}, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Sync.Webhook.Timeout = ptr.To(v1alpha1.Duration("100ms"))
	})
	f.CreateParent("slow", object{})
	env.WaitForEvent(t, f.Namespace, "slow", "SyncError", "no complete answer within 100ms")
}
