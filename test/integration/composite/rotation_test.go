// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

func TestQ24RotatedTokenIsUsedFromTheNextCall(t *testing.T) {
	t.Parallel()
	g := guard(t, "", nil) // takes the old token and the new one
	g.secret("credential", map[string]string{"token": "the-token-of-before"})
	g.run(func(_ *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) {
		webhook.CABundle, webhook.Authorization = g.caBundle(), g.token("credential", "token")
	})
	g.CreateParent("a", object{"value": "1"})
	g.WaitForConfigMap("a", harness.HasData("value", "1"))
	if seen := *g.seen.Load(); seen != "Bearer the-token-of-before" {
		t.Errorf("the hook is called with %q", seen)
	}
	g.secret("credential", map[string]string{"token": "the-token-of-after"})
	changed := time.Now()
	g.syncUntil("a", "the new token is used", func() bool { return *g.seen.Load() == "Bearer the-token-of-after" })
	t.Logf("a rotated token is used %s after the Secret was changed", time.Since(changed))
	g.accepted.Store(ptr.To("Bearer the-token-of-after"))
	g.sync("a", "only the new token")
	g.expectNoFailedSync("a")
	g.expectNotRestarted()
}

func TestQ24RotatedAuthorityIsTrustedFromTheNextCall(t *testing.T) {
	t.Parallel()
	g := guard(t, "", nil)
	before, after := g.ca, newAuthority(t, "hooks after")
	g.configMap("hooks-ca", map[string]string{"my.pem": string(before.Cert)})
	g.run(func(_ *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) {
		webhook.CABundle = &v1alpha1.CABundle{ConfigMapRef: &v1alpha1.ResourceKeyRef{Namespace: g.Namespace,
			Name: "hooks-ca", Key: new("my.pem")}}
	})
	g.CreateParent("a", object{"value": "1"})
	g.WaitForConfigMap("a", harness.HasData("value", "1"))
	// A call over a new connection shows that the bundle with both authorities is in use.
	peer := g.peer()
	g.configMap("hooks-ca", map[string]string{"my.pem": string(before.Cert) + string(after.Cert)})
	g.syncUntil("a", "both are trusted", func() bool { return g.peer() != peer })
	g.serve(t, after)
	peer = g.peer()
	g.configMap("hooks-ca", map[string]string{"my.pem": string(after.Cert)})
	g.syncUntil("a", "the new one alone is trusted", func() bool { return g.peer() != peer })
	g.expectNoFailedSync("a")
	g.expectNotRestarted()
}

func TestCredentialsThatComeLateAreNoticed(t *testing.T) {
	t.Parallel()
	g := guard(t, "Bearer a-token-that-comes-late", nil)
	g.run(func(_ *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) {
		webhook.CABundle = &v1alpha1.CABundle{SecretRef: &v1alpha1.ResourceKeyRef{Namespace: g.Namespace, Name: "hooks-ca"}}
		webhook.Authorization = g.token("credential", "token")
	})
	says := func(text string) {
		t.Helper()
		env.WaitForEvent(t, metav1.NamespaceDefault, g.Controller.Name, "CreateError", "Cannot create new controller: can't resolve endpoint config for sync hook: spec.hooks.sync.webhook."+text)
		g.WaitForReady(metav1.ConditionFalse, "CredentialsMissing")
	}
	g.CreateParent("a", object{"value": "1"})
	says("caBundle.secretRef: Secret " + g.Namespace + "/hooks-ca: it does not exist")
	g.secret("hooks-ca", map[string]string{"ca.crt": "what-is-no-certificate"})
	says("caBundle.secretRef: Secret " + g.Namespace + `/hooks-ca: key "ca.crt" contains no PEM certificate`)
	g.secret("hooks-ca", map[string]string{"ca.crt": string(g.ca.Cert)})
	says("authorization.secretRef: Secret " + g.Namespace + "/credential: it does not exist")
	g.secret("credential", map[string]string{"word": "a-token-that-comes-late"})
	says("authorization.secretRef: Secret " + g.Namespace + `/credential: it has no key "token"`)
	if calls := len(g.Hook.Calls()); calls > 0 {
		t.Errorf("the hook was called %d times without what it is to be called with", calls)
	}
	g.secret("credential", map[string]string{"token": "a-token-that-comes-late"})
	g.WaitForReady(metav1.ConditionTrue, "Running")
	g.WaitForConfigMap("a", harness.HasData("value", "1"))
	g.expectNoFailedSync("a")
}

// The old spec runs until the credentials of the new one exist.
func TestMissingCredentialsLeaveTheOldSpecRunning(t *testing.T) {
	t.Parallel()
	g := guard(t, "", nil)
	g.run(func(_ *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) { webhook.CABundle = g.caBundle() })
	g.CreateParent("a", object{"value": "1"})
	g.WaitForConfigMap("a", harness.HasData("value", "1"))
	g.PatchController(object{"spec": object{"hooks": object{"sync": object{"webhook": object{
		"authorization": object{"secretRef": object{"namespace": g.Namespace, "name": "credential", "key": "token"}},
	}}}}})
	g.WaitForReady(metav1.ConditionFalse, "CredentialsMissing")
	g.sync("a", "without a token")
	g.secret("credential", map[string]string{"token": "a-token-of-the-next-spec"})
	g.WaitForReady(metav1.ConditionTrue, "Running")
	g.sync("a", "with a token")
	if seen := *g.seen.Load(); seen != "Bearer a-token-of-the-next-spec" {
		t.Errorf("the hook is called with %q", seen)
	}
	g.expectNoFailedSync("a")
}

func TestCredentialsThatVanishStayInUse(t *testing.T) {
	t.Parallel()
	g := guard(t, "Bearer a-token-that-vanishes", nil)
	g.secret("credential", map[string]string{"token": "a-token-that-vanishes"})
	g.run(func(_ *v1alpha1.CompositeControllerSpec, webhook *v1alpha1.Webhook) {
		webhook.CABundle, webhook.Authorization = g.caBundle(), g.token("credential", "token")
	})
	g.CreateParent("a", object{"value": "1"})
	g.WaitForConfigMap("a", harness.HasData("value", "1"))
	if err := env.Kube.CoreV1().Secrets(g.Namespace).Delete(t.Context(), "credential", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	event := env.WaitForEvent(t, metav1.NamespaceDefault, g.Controller.Name, "CredentialsStale",
		"can't resolve endpoint config for sync hook: spec.hooks.sync.webhook.authorization.secretRef: Secret "+g.Namespace+"/credential: it does not exist")
	if event.Type != corev1.EventTypeWarning {
		t.Errorf("the event is a %s", event.Type)
	}
	g.sync("a", "with the last good token")
	g.hooksReachable("CredentialsStale")
	g.WaitForReady(metav1.ConditionTrue, "Running")

	g.accepted.Store(ptr.To(""))
	g.secret("credential", map[string]string{"token": "a-token-that-is-new"})
	g.syncUntil("a", "the new token is used", func() bool { return *g.seen.Load() == "Bearer a-token-that-is-new" })
	g.hooksReachable("Answered")
	g.expectNoFailedSync("a")
	g.expectNotRestarted()
}
