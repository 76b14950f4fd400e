// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	hostobject "github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
)

// testCredential tests a controller whose credential is right, and one whose credential is wrong.
func testCredential(t *testing.T, accepted string, right, wrong map[string]string, change func(*guarded, *v1alpha1.CompositeControllerSpec, *v1alpha1.Webhook)) {
	for _, test := range []struct {
		name       string
		credential map[string]string
		comes      bool
	}{{"right", right, true}, {"wrong", wrong, false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, accepted, nil)
			g.secret("credential", test.credential)
			g.run(func(spec *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) { change(g, spec, webhook) })
			g.CreateParent("a", object{"value": "1"})
			if test.comes {
				g.WaitForConfigMap("a", harness.HasData("value", "1"))
				return
			}
			env.WaitForEvent(t, g.Namespace, "a", "SyncError", "unsupported status code: 403")
			if _, err := g.GetConfigMap(t.Context(), "a"); err == nil {
				t.Error("a child was created")
			}
		})
	}
}

func TestBearerTokenAuth(t *testing.T) {
	t.Parallel()
	testCredential(t, "Bearer a-token-that-is-right", map[string]string{"token": "a-token-that-is-right\n"}, map[string]string{"token": "a-token-that-is-wrong"},
		func(g *guarded, _ *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) {
			webhook.CABundle, webhook.Authorization = g.caBundle(), g.token("credential", "token")
		})
}

func TestBasicAuth(t *testing.T) {
	t.Parallel()
	header := "Basic " + base64.StdEncoding.EncodeToString([]byte("someuser:a-password-that-is-right"))
	testCredential(t, header, map[string]string{"username": "someuser", "password": "a-password-that-is-right"}, map[string]string{"username": "someuser", "password": "a-password-that-is-wrong"},
		func(g *guarded, _ *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) {
			webhook.CABundle = g.caBundle()
			webhook.BasicAuth = &v1alpha1.BasicAuth{SecretRef: v1alpha1.SecretRef{Namespace: g.Namespace, Name: "credential"}}
		})
}

func TestEndpointConfigsBearerToken(t *testing.T) {
	t.Parallel()
	testCredential(t, "Bearer an-endpoint-token-that-is-right", map[string]string{"token": "an-endpoint-token-that-is-right"}, map[string]string{"token": "an-endpoint-token-that-is-wrong"},
		func(g *guarded, spec *v1alpha1.CompositeControllerSpec, _ *v1alpha1.Webhook) {
			host := strings.TrimPrefix(g.Hook.URL(""), "https://")
			spec.EndpointConfigs = []v1alpha1.EndpointConfig{
				{Host: "127.0.0.1"}, // another port
				{Host: host, CABundle: g.caBundle(), Authorization: g.token("credential", "token")},
			}
		})
}

// If a hook has settings of its own, those of the endpoint are not used at all.
func TestAHooksOwnSettingsReplaceThoseOfItsEndpoint(t *testing.T) {
	t.Parallel()
	g := guard(t, "Bearer a-token-of-the-endpoint", nil)
	g.secret("credential", map[string]string{"token": "a-token-of-the-endpoint"})
	g.run(func(spec *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) {
		webhook.CABundle = g.caBundle()
		spec.EndpointConfigs = []v1alpha1.EndpointConfig{{
			Host: strings.TrimPrefix(g.Hook.URL(""), "https://"), CABundle: g.caBundle(), Authorization: g.token("credential", "token"),
		}}
	})
	g.CreateParent("a", object{"value": "1"})
	env.WaitForEvent(t, g.Namespace, "a", "SyncError", "unsupported status code: 403")
	if seen := *g.seen.Load(); seen != "" {
		t.Errorf("the hook is called with %q", seen)
	}
}

func TestAuthorityThatIsNotKnownIsNotTrusted(t *testing.T) {
	t.Parallel()
	g := guard(t, "", nil)
	g.run(func(*v1alpha1.CompositeControllerSpec, *v1alpha1.Webhook) {})
	g.CreateParent("a", object{"value": "1"})
	env.WaitForEvent(t, g.Namespace, "a", "SyncError",
		"certificate signed by unknown authority (put the certificate of the authority")
}

func TestMutualTLSWithAuthorityFromConfigMap(t *testing.T) {
	t.Parallel()
	clients := newAuthority(t, "clients")
	for name, issuer := range map[string]*pki.Authority{"right": clients, "wrong": newAuthority(t, "others")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, "", clients)
			pair, err := issuer.Client("metacontroller")
			if err != nil {
				t.Fatal(err)
			}
			g.configMap("hooks-ca", map[string]string{"ca.crt": string(g.ca.Cert)})
			g.secret("client", map[string]string{"tls.crt": string(pair.Cert), "tls.key": string(pair.Key)})
			g.run(func(_ *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) {
				webhook.CABundle = &v1alpha1.CABundle{ConfigMapRef: &v1alpha1.ResourceKeyRef{Namespace: g.Namespace, Name: "hooks-ca"}}
				webhook.ClientTLS = &v1alpha1.ClientTLS{SecretRef: v1alpha1.SecretRef{Namespace: g.Namespace, Name: "client"}}
			})
			g.CreateParent("a", object{"value": "1"})
			if issuer == clients {
				g.WaitForConfigMap("a", harness.HasData("value", "1"))
				return
			}
			env.WaitForEvent(t, g.Namespace, "a", "SyncError", "the hook rejects the client certificate of "+
				"spec.hooks.sync.webhook.clientTLS")
		})
	}
}

func TestEveryHookIsCalledWithItsCredentials(t *testing.T) {
	t.Parallel()
	g := guard(t, "Bearer a-token-for-all-hooks", nil)
	g.secret("credential", map[string]string{"token": "a-token-for-all-hooks"})
	refused := make(chan string, 100)
	g.Hook.Handle(func(_ context.Context, call hook.Call) hook.Answer {
		if header := call.Header.Get("Authorization"); header != "Bearer a-token-for-all-hooks" {
			refused <- fmt.Sprintf("%s is called with %q", call.Path, header)
		}
		return hook.JSON(object{"finalized": true})
	})
	g.run(func(spec *v1alpha1.CompositeControllerSpec, _ *v1alpha1.Webhook) {
		spec.EndpointConfigs = []v1alpha1.EndpointConfig{{
			Host: strings.TrimPrefix(g.Hook.URL(""), "https://"), CABundle: g.caBundle(), Authorization: g.token("credential", "token"),
		}}
		spec.Hooks.Finalize = &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(g.Hook.URL("/finalize"))}}
		spec.Hooks.Customize = &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(g.Hook.URL("/customize"))}}
	})
	g.CreateParent("a", object{})
	g.waitUntilObserved("a", 1)
	g.DeleteParent("a")
	env.Eventually(t, func(context.Context) error {
		called := map[string]bool{}
		for _, call := range g.Hook.Calls() {
			called[call.Path] = true
		}
		if len(called) < 3 {
			return fmt.Errorf("all three hooks should be called, but are %v", called)
		}
		return nil
	})
	select {
	case refusal := <-refused:
		t.Error(refusal)
	default:
	}
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
