// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	hostobject "github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A hook is called with credentials of its own, or with those of its endpoint if it has none. The error of a hook that
// refuses them does not tell them.
func TestEveryHookIsCalledWithItsCredentials(t *testing.T) {
	t.Parallel()
	g := guard(t, "", nil)
	g.secret("token", map[string]string{"token": "a-token-of-the-hook"})
	g.secret("password", map[string]string{"username": "someuser", "password": "a-password-of-the-hook"})
	g.secret("shared", map[string]string{"token": "a-token-of-the-endpoint"})
	headers := map[string]string{
		harness.SyncPath:      "Bearer a-token-of-the-hook",
		harness.CustomizePath: "Basic " + base64.StdEncoding.EncodeToString([]byte("someuser:a-password-of-the-hook")),
		harness.FinalizePath:  "Bearer a-token-of-the-endpoint",
	}
	var accepts atomic.Bool
	g.Hook.Handle(func(_ context.Context, call hook.Call) hook.Answer {
		header := call.Header.Get("Authorization")
		switch {
		case header != headers[call.Path]:
			t.Errorf("%s is called with %q", call.Path, header)
		case call.Path == harness.SyncPath && !accepts.Load():
			return hook.Text(http.StatusForbidden, "refused: "+header)
		case call.Path == harness.SyncPath:
			return hook.JSON(object{"children": []object{hook.ConfigMap("a", object{})}})
		}
		return hook.JSON(object{"finalized": true})
	})
	g.run(func(spec *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) {
		spec.Hooks.Customize = harness.HookBeside(spec.Hooks.Sync, harness.CustomizePath)
		spec.Hooks.Customize.Webhook.CABundle = g.caBundle()
		spec.Hooks.Customize.Webhook.BasicAuth = &v1alpha1.BasicAuth{
			SecretRef: v1alpha1.SecretRef{Namespace: g.Namespace, Name: "password"},
		}
		spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
		webhook.CABundle, webhook.Authorization = g.caBundle(), g.token("token", "token")
		spec.EndpointConfigs = []v1alpha1.EndpointConfig{
			{Host: "127.0.0.1"}, // another port
			{
				Host:     strings.TrimPrefix(g.Hook.URL(""), "https://"),
				CABundle: g.caBundle(), Authorization: g.token("shared", "token"),
			},
		}
	})
	g.CreateParent("a", object{})
	env.WaitForEvent(t, g.Namespace, "a", "SyncError", "unsupported status code: 403")
	if g.HasConfigMap("a") {
		t.Error("a child was created although the hook refuses the call")
	}
	accepts.Store(true)
	g.WaitForConfigMap("a", harness.Exists)
	g.DeleteParent("a")
	g.WaitUntilParentIsGone("a")
	called := map[string]bool{}
	for _, call := range g.Hook.Calls() {
		called[call.Path] = true
	}
	if len(called) != len(headers) {
		t.Errorf("all three hooks should be called, but are %v", called)
	}
}

func TestMutualTLSWithAuthorityFromConfigMap(t *testing.T) {
	t.Parallel()
	clients := newAuthority(t, "clients")
	g := guard(t, "", clients)
	pair, err := clients.Client("metacontroller")
	if err != nil {
		t.Fatal(err)
	}
	g.configMap("hooks-ca", map[string]string{"ca.crt": string(g.ca.Cert)})
	g.secret("client", map[string]string{"tls.crt": string(pair.Cert), "tls.key": string(pair.Key)})
	g.run(func(_ *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) {
		authority := v1alpha1.ResourceKeyRef{Namespace: g.Namespace, Name: "hooks-ca"}
		webhook.CABundle = &v1alpha1.CABundle{ConfigMapRef: &authority}
		webhook.ClientTLS = &v1alpha1.ClientTLS{SecretRef: v1alpha1.SecretRef{Namespace: g.Namespace, Name: "client"}}
	})
	g.CreateParent("a", object{"value": "1"})
	g.WaitForConfigMap("a", harness.HasData("value", "1"))
}

// The rights that the documentation names suffice. Each is for one object.
func TestRightsOnOneSecretSuffice(t *testing.T) {
	t.Parallel()
	namespace, user := env.Namespace(t), harness.Name("reader")
	env.Apply(t, strings.NewReplacer("NAMESPACE", namespace, "USER", user).Replace(`
apiVersion: v1
kind: Secret
metadata: {name: one, namespace: NAMESPACE}
---
apiVersion: v1
kind: Secret
metadata: {name: another, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: one, namespace: NAMESPACE}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [one], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: one, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: one}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
`))
	config := rest.CopyConfig(env.Config)
	config.Impersonate.UserName = user
	client, err := host.NewClient(config, host.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	secrets := hostobject.Type{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("secrets"), Kind: "Secret", Namespaced: true}
	watches := cache.NewInformers(t.Context(), client, 0)
	follow := func(ctx context.Context, name string) (found bool, err error) {
		stop, err := watches.Follow(ctx, secrets, types.NamespacedName{Namespace: namespace, Name: name}, func(now *hostobject.Object) { found = now != nil })
		if err == nil {
			stop()
		}
		return found, err
	}
	env.Eventually(t, func(ctx context.Context) error { // the host takes a moment to know a new role
		if found, err := follow(ctx, "one"); err != nil || !found {
			return fmt.Errorf("found %v: %w", found, err)
		}
		return nil
	})
	if _, err := follow(t.Context(), "another"); err == nil || !strings.Contains(err.Error(), `secrets "another" is forbidden`) {
		t.Errorf("the error about another Secret is %v", err)
	}
}
