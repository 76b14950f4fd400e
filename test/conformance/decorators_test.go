// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/conformance/decorators"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

func TestDecorators(t *testing.T) { decorators.Run(t, env) }

// guarded is a decorator of things whose hook requires a credential.
const guarded = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: $NAME}
spec:
  resources: [{apiVersion: $Thing, resource: things}]
  attachments: [{apiVersion: v1, resource: configmaps}]
  hooks: {sync: {webhook: {url: "$GUARDED/sync", $WEBHOOK}}}
  endpointConfigs: [$ENDPOINT]
`

const (
	byToken = `caBundle: {inline: $CA}, authorization: {secretRef: {namespace: $NAMESPACE, name: credential, key: token}}`
	byBasic = `caBundle: {inline: $CA}, basicAuth: {secretRef: {namespace: $NAMESPACE, name: credential}}`
)

func TestDecoratorBearerTokenAuth(t *testing.T) {
	token := func(value string) map[string]string { return map[string]string{"token": value} }
	testCredential(t, "Bearer right-token", byToken, "", token("right-token"), token("wrong-token"))
}

func TestDecoratorBasicAuth(t *testing.T) {
	password := func(value string) map[string]string {
		return map[string]string{"username": "someuser", "password": value}
	}
	header := "Basic " + base64.StdEncoding.EncodeToString([]byte("someuser:right-password"))
	testCredential(t, header, byBasic, "", password("right-password"), password("wrong-password"))
}

func TestDecoratorEndpointConfigsBearerToken(t *testing.T) {
	token := func(value string) map[string]string { return map[string]string{"token": value} }
	testCredential(t, "Bearer right-token", "", `{host: "$HOST", `+byToken+`}`, token("right-token"), token("wrong-token"))
}

// testCredential tests a decorator whose credential is right, and one whose credential is wrong.
func testCredential(t *testing.T, accepted, webhook, endpoint string, right, wrong map[string]string) {
	t.Helper()
	t.Parallel()
	for name, credential := range map[string]map[string]string{"right": right, "wrong": wrong} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withThings(t, nil)
			server, authority := hook.ServeGuarded(t, accepted, hook.Answering(t, func(object) object {
				return object{"attachments": list{hook.ConfigMap("a", object{})}}
			}))
			inline, err := json.Marshal(string(authority))
			if err != nil {
				t.Fatal(err)
			}
			_, err = env.Kube.CoreV1().Secrets(s.Namespace).Create(t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "credential"}, StringData: credential,
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			s.Say("$GUARDED", server.URL(""))
			s.Say("$HOST", strings.TrimPrefix(server.URL(""), "https://"))
			s.Say("$CA", string(inline))
			s.Say("$WEBHOOK", webhook)
			s.Say("$ENDPOINT", endpoint)
			s.Create(guarded + "\n---\n" + aThing)
			if name == "right" {
				s.Exists(scenario.ConfigMap("a"))
				return
			}
			s.Event(theThing, "SyncError", "unsupported status code: 403")
			s.Absent(scenario.ConfigMap("a"))
		})
	}
}
