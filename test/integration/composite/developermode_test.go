// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// inDeveloperMode restarts the server in the developer's mode. It returns the function that restarts it
// without.
func inDeveloperMode(t *testing.T) (end func()) {
	t.Helper()
	before := env.Server.Args
	restart := func(args []string) {
		env.StopServer(t)
		env.Server.Args = args
		env.StartServer(t)
	}
	restart(append(slices.Clone(before), "--developer-mode"))
	return func() { restart(before) }
}

// waitForLog waits until the server's log says something.
func waitForLog(t *testing.T, text string) {
	t.Helper()
	env.Eventually(t, func(context.Context) error {
		log, err := os.ReadFile(env.Server.LogPath)
		if err == nil && !strings.Contains(string(log), text) {
			err = fmt.Errorf("the log does not say %q", text)
		}
		return err
	})
}

func TestInDeveloperModeTheLogAndTheStatusSayWhatHappens(t *testing.T) {
	defer inDeveloperMode(t)()
	var failing atomic.Bool
	traceback := "Traceback (most recent call last):\n" + strings.Repeat("  File \"/app/hook.py\", line 436, in handle\n", 100) + "KeyError: 'size'"
	wanting := answers(t, oneConfigMap)
	f := start(t, func(ctx context.Context, call hook.Call) hook.Answer {
		if failing.Load() {
			return hook.Text(http.StatusInternalServerError, traceback)
		}
		return wanting(ctx, call)
	})

	f.CreateParent("blog", object{"value": "one"})
	waitForLog(t, fmt.Sprintf("Thing %s/blog: created ConfigMap blog", f.Namespace))
	f.WaitForConfigMap("blog", harness.HasData("value", "one"))
	f.PatchParent("blog", object{"spec": object{"value": "two"}})
	waitForLog(t, fmt.Sprintf("Thing %s/blog: updated ConfigMap blog", f.Namespace))

	failing.Store(true)
	f.Touch("blog", "again")
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.LastError == nil || !strings.Contains(status.LastError.Message, traceback) {
			return fmt.Errorf("the last error does not have the whole traceback: %+v", status.LastError)
		}
		return nil
	})
}
