// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// Each hook is told what woke its sync.
func TestHooksAreToldWhatWokeTheSync(t *testing.T) {
	t.Parallel()
	var resyncs, fails atomic.Bool
	f := start(t, func(ctx context.Context, call hook.Call) hook.Answer {
		if call.Path == harness.SyncPath && fails.Load() {
			return hook.Answer{Status: http.StatusInternalServerError}
		}
		return relating(t, func(asked request) object {
			answer := oneConfigMap(asked)
			if resyncs.Load() {
				answer["resyncAfterSeconds"] = 0.1
			}
			return answer
		})(ctx, call)
	}, allV2)
	woke := func(trigger string, wake func()) {
		t.Helper()
		f.Settle("a")
		wake()
		harness.WaitForRequest(&f.Fixture, harness.SyncPath, "a", func(asked request) bool { return asked.Trigger == trigger })
	}
	namespace, name := env.Namespace(t), harness.Name("cm")
	f.CreateParent("a", object{"value": "1", "rules": rules(configMapsNamed(name))["rules"]})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	first := harness.WaitForRequest(&f.Fixture, harness.SyncPath, "a", func(request) bool { return true })
	if first.Trigger != "parent" {
		t.Errorf("the first sync was woken by %q", first.Trigger)
	}
	asked := harness.WaitForRequest(&f.Fixture, harness.CustomizePath, "a", func(request) bool { return true })
	if asked.Trigger != "parent" {
		t.Errorf("the customize hook was told %q", asked.Trigger)
	}
	woke("child", func() { f.DeleteConfigMap("a") })
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	woke("related", func() { putConfigMap(t, namespace, name, nil, map[string]string{"value": "1"}) })
	woke("resync", func() {
		resyncs.Store(true)
		f.Touch("a", "resyncs")
	})
	resyncs.Store(false)
	fails.Store(true)
	woke("retry", func() { f.PatchParent("a", object{"spec": object{"value": "2"}}) })
	fails.Store(false)
	f.WaitForParent("a", func(*unstructured.Unstructured) error { return nil })
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
}
