// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"k8s.io/utils/ptr"
)

// throughProxy is set in the process that calls a hook through a proxy.
const throughProxy = "TEST_HOOK_THROUGH_PROXY"

// A process reads its environment only once, so the test runs another process.
func TestProxiesOfTheEnvironmentAreUsed(t *testing.T) {
	const hooks = "http://hooks.invalid/sync"
	if os.Getenv(throughProxy) != "" {
		if err := ask(t, callerOf(t, &v1alpha1.Webhook{URL: ptr.To(hooks)}, Options{MaxIdleConnections: 2})); err != nil {
			t.Error(err)
		}
		return
	}
	asked := make(chan string, 1)
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.String()
		_, _ = io.WriteString(w, "{}")
	})
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), throughProxy+"=yes", "HTTP_PROXY="+proxy, "NO_PROXY=")
	if output, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if got := <-asked; got != "POST "+hooks {
		t.Errorf("the proxy was asked to %s", got)
	}
}
