// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// A sync whose answer has not changed sends no requests to the host.
func TestQ30QuietSyncsLeaveTheHostAlone(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		answer := oneConfigMap(asked)
		answer["labels"] = object{"marked": "yes", "absent": nil}
		answer["annotations"] = object{"note": "any text"}
		answer["status"] = object{"seen": 1.0, "list": []any{object{"a": nil}}}
		return answer
	}), withFinalize)
	const targets = 3
	name := func(i int) string { return fmt.Sprintf("t%d", i) }
	for i := range targets {
		f.CreateParent(name(i), object{"value": "1"})
	}
	for i := range targets {
		f.waitForLabel(name(i), "marked", "yes")
		f.WaitForConfigMap(name(i), harness.HasData("value", "1"))
		f.Settle(name(i))
	}
	from := env.AuditEnd(t)
	for i := range targets {
		f.Settle(name(i))
	}
	if requests := env.Requests(t, from, hostcluster.Request{Namespace: f.Namespace}); len(requests) > 0 {
		t.Errorf("quiet syncs made the requests %v", requests)
	}
}

// An answer 304 to a request with an ETag stands for the last answer.
func TestETag(t *testing.T) {
	t.Parallel()
	var repeated atomic.Int32
	f := start(t, func(_ context.Context, call hook.Call) hook.Answer {
		if call.Header.Get("If-None-Match") == `"1"` {
			repeated.Add(1)
			return hook.Text(http.StatusNotModified, "")
		}
		answer := hook.JSON(object{"labels": object{"marked": "yes"}, "attachments": []object{hook.ConfigMap("a", object{})}})
		answer.Header.Set("ETag", `"1"`)
		return answer
	}, func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Hooks.Sync.Webhook.Etag = &v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}
	})
	f.CreateParent("a", object{})
	first := f.waitForAttachment("a")
	f.waitForLabel("a", "marked", "yes")
	f.PatchParent("a", object{"metadata": object{"labels": object{"marked": nil}}})
	f.waitForLabel("a", "marked", "yes")
	f.DeleteConfigMap("a")
	f.WaitForConfigMap("a", func(again *corev1.ConfigMap) error {
		if again.UID == first.UID {
			return fmt.Errorf("it is still the first one")
		}
		return nil
	})
	if repeated.Load() < 2 {
		t.Errorf("the hook could answer 304 %d times, want twice at least", repeated.Load())
	}
}
