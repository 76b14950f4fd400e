// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

func TestAHookCannotHaveALinkLocalAddress(t *testing.T) {
	controller := strings.Replace(manifest(harness.Name("test")), "http://127.0.0.1:1/sync", "http://169.254.169.254/latest/meta-data", 1)
	for _, flags := range [][]string{{"apply", "--server-side"}, {"create", "--dry-run=server"}} {
		out, err := kubectlAs(t.Context(), "root", controller, append(flags, "-f", "-", "--as-group=system:masters")...)
		if err == nil {
			t.Errorf("kubectl %s takes it: %s", strings.Join(flags, " "), out)
		}
		contains(t, out, "spec.hooks.sync.webhook.url: Forbidden: hooks must not have the address 169.254.169.254")
	}
}

func TestAHookCannotRedirectToAnotherHost(t *testing.T) {
	s := scenario.New(t, env)
	s.Define(harness.CRD{Kind: "Thing"})
	redirecting := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect))
	t.Cleanup(redirecting.Close)
	s.Say("$REDIRECTING", redirecting.URL)
	s.Create(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME}
spec:
  generateSelector: true
  parentResource: {apiVersion: $Thing, resource: things}
  hooks: {sync: {webhook: {url: $REDIRECTING/sync}}}
---
apiVersion: $Thing
kind: Thing
metadata: {name: a, namespace: $NAMESPACE}
`)
	s.Event(scenario.Ref{APIVersion: s.Text("$Thing"), Kind: "Thing", Namespace: "$NAMESPACE", Name: "a"}, "SyncError",
		`the hook redirects to another host, "169.254.169.254", which the server does not follow (--hook-redirects)`)
}
