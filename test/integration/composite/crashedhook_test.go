// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// waitForLastError waits until the status of the controller shows an error with this text.
func (f *fixture) waitForLastError(text string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		shown, err := env.Host.RunKubectl(ctx, "get", "cc", f.Controller.Name, "-o", "jsonpath={.status.lastError.message}")
		if err == nil && !strings.Contains(shown, text) {
			err = fmt.Errorf("status.lastError is %q, want %q in it", shown, text)
		}
		return err
	})
}

// The last line of a traceback says what is wrong, and comes first.
func TestTheTracebackOfAHookIsShown(t *testing.T) {
	t.Parallel()
	const last = "KeyError: 'size'"
	traceback := "Traceback (most recent call last):\n" +
		strings.Repeat("  File \"/usr/lib/python3.11/http/server.py\", line 436, in handle\n    self.handle_one_request()\n    ^^^^^^^^^^^^^^^^^^^^^^^^^\n", 20) +
		"  File \"/app/hook.py\", line 12, in sync\n    size = parent['spec']['size']\n           ~~~~~~~~~~~~~~^^^^^^^^\n" + last + "\n"
	f := start(t, func(context.Context, hook.Call) hook.Answer {
		return hook.Text(http.StatusInternalServerError, traceback)
	})
	f.CreateParent("a", object{})
	event := env.WaitForEvent(t, f.Namespace, "a", "SyncError", last)
	for _, part := range []string{"sync hook failed: " + f.Hook.URL("/sync"), "500", last + "; Traceback (most recent call last)", "line 12, in sync size = parent['spec']['size']"} {
		if !strings.Contains(event.Message, part) {
			t.Errorf("the event does not say %q: %s", part, event.Message)
		}
	}
	f.waitForLastError("500 body: " + last)
}

func TestACrashOfAHookIsCalledOne(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Read(make([]byte, 1000))
			_ = connection.Close()
		}
	}()
	f := prepare(t, hook.Serve(t, answers(t, oneConfigMap)))
	address := "http://" + listener.Addr().String()
	f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Sync.Webhook.URL = ptr.To(address) }))
	f.CreateParent("a", object{})
	const crashed = "crashed, so look at its log"
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", crashed)
	f.waitForLastError("sync hook failed: " + address)
	f.waitForLastError(crashed)
}
