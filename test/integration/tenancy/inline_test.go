// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// An inline hook sees what its account may read, and its children are written as the account.
func TestAnInlineHookHasTheRightsOfItsAccount(t *testing.T) {
	t.Parallel()
	r := prepareReader(t, mirroring(t))
	r.grant(readsChildren())
	other, from := env.Namespace(t), env.AuditEnd(t)
	const text = "nobody-may-see-this"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "hidden"}, StringData: map[string]string{"key": text}}
	if _, err := env.Kube.CoreV1().Secrets(other).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.RunComposite(r.CompositeSpec(r.asAccount, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Customize = harness.InlineHook(t, `relatedResources: "${parent.spec.rules}"`)
		spec.Hooks.Sync = harness.InlineHook(t, `
variables:
- {name: seen, expression: "related['Secret.v1'].map(name, string(base64.decode(related['Secret.v1'][name].data.key)))"}
status: {value: "${parent.spec.value}"}
children:
- object:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${parent.metadata.name}"}
    data: {value: "${'Secret.v1' in related ? variables.seen[0] : parent.spec.value}"}
`)
	}))
	r.askForSecrets(other)
	if r.HasConfigMap("asking") {
		t.Error("the hook was evaluated without the right to read the Secret")
	}
	r.pasteMissing()
	r.untilReady(metav1.ConditionTrue, "Running")
	r.WaitForConfigMap("asking", harness.HasData("value", text))
	f := &fixture{r.Fixture}
	f.WaitForParent("asking", hasStatus)
	f.expectWritesAs(from, account{Namespace: r.Namespace, Name: r.account}, "create configmaps", "update parents/status")
}
