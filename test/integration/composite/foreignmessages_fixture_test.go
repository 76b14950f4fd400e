// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// databaseSchema has rules with messages of their author.
func databaseSchema() object {
	size := object{"type": "integer", "x-kubernetes-validations": []any{
		object{
			"rule":              "self % 10 == 0",
			"messageExpression": `"size must be a multiple of 10 (ask storage@example.com for others)"`,
		},
	}}
	owner := object{"type": "string", "x-kubernetes-validations": []any{
		object{"rule": "self != 'nobody'", "message": "a team is required as owner: see https://wiki.example/teams#owners"},
	}}
	return object{"spec": object{
		"type": "object", "required": []any{"size"}, "properties": object{"size": size, "owner": owner},
		"x-kubernetes-validations": []any{object{
			"rule":    "self.size == oldSelf.size",
			"message": "size is immutable while a backup is running; wait for Backup/nightly, or delete it",
		}},
	}}
}

// allowNoSecrets sets a quota that is used up. No controller writes its status.
func (f *fixture) allowNoSecrets() {
	f.Helper()
	none := corev1.ResourceList{"count/secrets": resource.MustParse("0")}
	quotas := env.Kube.CoreV1().ResourceQuotas(f.Namespace)
	quota, err := quotas.Create(f.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: none},
	}, metav1.CreateOptions{})
	if err == nil {
		quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
		_, err = quotas.UpdateStatus(f.Context(), quota, metav1.UpdateOptions{})
	}
	if err != nil {
		f.Fatal(err)
	}
}

// refuseConfigMaps has two policies and a webhook refuse ConfigMaps that ask for it.
func (f *fixture) refuseConfigMaps() {
	f.Helper()
	var policies []string
	for asks, message := range map[string]string{
		"tier": `message: "tier is immutable, updates may not change fields other than data: use the release pipeline"`,
		"approval": `messageExpression: "'ConfigMap ' + object.metadata.name + ' must be approved; ` +
			`missing is the label \"approved-by\" (https://policies.example/42)'"`,
	} {
		words := strings.NewReplacer("POLICY", harness.Name(asks), "ASKS", asks, "MESSAGE", message, "NAMESPACE", f.Namespace)
		policies = append(policies, words.Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: POLICY}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations:
  - expression: "object.metadata.?labels.asks.orValue('') != 'ASKS'"
    MESSAGE
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: POLICY}
spec:
  policyName: POLICY
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}}
`))
	}
	env.Apply(f, strings.Join(policies, "---"))
	f.refuseByWebhook()
	for _, asks := range []string{"tier", "approval", "webhook"} {
		env.Eventually(f, func(ctx context.Context) error {
			probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"asks": asks}}}
			dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
			_, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(ctx, probe, dryRun)
			if err == nil || !strings.Contains(err.Error(), "denied") {
				return fmt.Errorf("the ConfigMap that asks for %q is not denied: %w", asks, err)
			}
			return nil
		})
	}
}

func (f *fixture) refuseByWebhook() {
	f.Helper()
	server, authority := hook.ServeGuarded(f, "", func(_ context.Context, call hook.Call) hook.Answer {
		var review struct{ Request struct{ UID string } }
		if err := call.Decode(&review); err != nil {
			return hook.Text(http.StatusBadRequest, err.Error())
		}
		return hook.JSON(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": object{
			"uid": review.Request.UID, "allowed": false, "status": object{"message": "field is immutable without a review:\n" +
				"json: cannot unmarshal a reviewer: open https://reviews.example/new?team=shop&size=10"},
		}})
	})
	configurations := env.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	name := harness.Name("reviews")
	_, err := configurations.Create(f.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         "reviews.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To(server.URL("/")), CABundle: authority},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
				},
			}},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: f.Namespace},
			},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{"asks": "webhook"}},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := configurations.Delete(context.WithoutCancel(f.Context()), name, metav1.DeleteOptions{}); err != nil {
			f.Error(err)
		}
	})
}
