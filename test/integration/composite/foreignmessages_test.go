// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// foreignMessage is what another program says of a child.
type foreignMessage struct {
	// before is the child that the cluster takes first; empty if there is none. child is what it refuses.
	before, child string
	// want is the message, without the fields and values that kube-apiserver puts before it, which each version
	// writes otherwise. Each engine sends another request, so wantOfApply is that of server-side apply;
	// empty if it is the same.
	want, wantOfApply string
}

const (
	database   = "{apiVersion: GROUP/v1, kind: Database, metadata: {name: NAME}, spec: %s}"
	configMap  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {asks: %q}}}"
	deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME}, spec: {replicas: %s, " +
		"selector: {matchLabels: {app: %[2]s}}, " +
		"template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: a, image: b}]}}}}"
)

// foreignMessages are written by authors of CustomResourceDefinitions, policies and webhooks, and by the cluster.
var foreignMessages = map[string]foreignMessage{
	"rule-immutable": {
		before: fmt.Sprintf(database, "{size: 10}"), child: fmt.Sprintf(database, "{size: 20}"),
		want: `size is immutable while a backup is running; wait for Backup/nightly, or delete it`,
	},
	"rule-required": {
		child: fmt.Sprintf(database, "{size: 10, owner: nobody}"),
		want:  "a team is required as owner: see https://wiki.example/teams#owners",
	},
	"rule-must-be": {
		child: fmt.Sprintf(database, "{size: 11}"),
		want:  "size must be a multiple of 10 (ask storage@example.com for others)",
	},
	"schema-type": {
		child:       fmt.Sprintf(database, `{size: "10"}`),
		want:        `spec.size in body must be of type integer: "string"`,
		wantOfApply: `.spec.size: expected numeric (int or float), got string`,
	},
	"schema-required": {
		child: fmt.Sprintf(database, "{owner: shop}"),
		want:  `spec.size: Required value`,
	},
	"policy-immutable": {
		child: fmt.Sprintf(configMap, "tier"),
		want:  `denied request: tier is immutable, updates may not change fields other than data: use the release pipeline`,
	},
	"policy-must-be": {
		child: fmt.Sprintf(configMap, "approval"),
		want: `denied request: ConfigMap NAME must be approved; ` +
			`missing is the label "approved-by" (https://policies.example/42)`,
	},
	"webhook": {
		child: fmt.Sprintf(configMap, "webhook"),
		want: `admission webhook "reviews.example.com" denied the request: field is immutable without a review:` + "\n" +
			`json: cannot unmarshal a reviewer: open https://reviews.example/new?team=shop&size=10`,
	},
	"quota": {
		child: "{apiVersion: v1, kind: Secret, metadata: {name: NAME}}",
		want: `secrets "NAME" is forbidden: exceeded quota: few, ` +
			`requested: count/secrets=1, used: count/secrets=0, limited: count/secrets=0`,
	},
	"decoding": {
		child: fmt.Sprintf(deployment, `"3"`, "x"),
		want: `Deployment in version "v1" cannot be handled as a Deployment: ` +
			`json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`,
		wantOfApply: `failed to create typed patch object (NAMESPACE/NAME; apps/v1, Kind=Deployment): ` +
			`.spec.replicas: expected numeric (int or float), got string`,
	},
	"built-in-immutable": {
		before: fmt.Sprintf(deployment, "0", "x"), child: fmt.Sprintf(deployment, "0", "z"),
		want: `: field is immutable`,
	},
	"label": {
		child: fmt.Sprintf(configMap, "a b"),
		want: `a valid label must be an empty string or consist of alphanumeric ` +
			`characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
			`(e.g. 'MyValue',  or 'my_value',  or '12345', ` +
			`regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
	},
}

// What other programs say of a child is shown in full, and nothing of ours advises to delete something.
func TestMessagesOfOtherProgramsPassUnchanged(t *testing.T) {
	if got := len(foreignMessages); got != 12 {
		t.Errorf("there are %d messages", got)
	}
	databases := env.Install(t, harness.CRD{Kind: "Database", Schema: databaseSchema()})
	underBothEngines(t, func(t *testing.T, engine change) {
		f := start(t, answers(t, func(asked request) object {
			name := asked.Parent.GetName()
			message, step := foreignMessages[name], asked.Parent.GetLabels()["step"]
			text := message.child
			if step == "before" {
				text = message.before
			}
			var child object
			text = strings.NewReplacer("NAME", name, "GROUP", databases.Group).Replace(text)
			if err := yaml.Unmarshal([]byte(text), &child); err != nil {
				t.Error(err)
			}
			return object{"children": []object{child}}
		}), func(spec *v1alpha1.CompositeControllerSpec) {
			for _, rule := range [][2]string{
				{databases.GroupVersion().String(), "databases"}, {"v1", "secrets"}, {"apps/v1", "deployments"},
			} {
				spec.ChildResources = append(spec.ChildResources, harness.ChildRule(rule[0], rule[1], v1alpha1.ChildUpdateInPlace))
			}
		}, engine)
		f.refuseConfigMaps()
		f.allowNoSecrets()
		for name, message := range foreignMessages {
			t.Run(name, func(t *testing.T) { f.in(t).findsUnchanged(name, message) })
		}
	})
}

// findsUnchanged finds a message wherever users look for it.
func (f *fixture) findsUnchanged(name string, message foreignMessage) {
	f.Helper()
	if message.before != "" {
		f.CreateParentWith(name, object{"labels": object{"step": "before"}}, object{})
		f.WaitForParent(name, func(*unstructured.Unstructured) error { return f.isSynced(name) })
		f.PatchParent(name, object{"metadata": object{"labels": object{"step": nil}}})
	} else {
		f.CreateParent(name, object{})
	}
	want := message.want
	if strings.HasSuffix(f.Name(), string(v1alpha1.ChildApplyServerSide)+"/"+name) && message.wantOfApply != "" {
		want = message.wantOfApply
	}
	want = strings.NewReplacer("NAMESPACE", f.Namespace, "NAME", name).Replace(want)
	says := func(place, text string) error {
		switch {
		case !strings.Contains(text, want):
			return fmt.Errorf("%s does not say\n%s\nbut\n%s", place, want, text)
		case strings.Contains(strings.ReplaceAll(text, want, ""), "Recreate"):
			return fmt.Errorf("%s advises to recreate the child:\n%s", place, text)
		}
		return nil
	}
	whole := want
	want = strings.ReplaceAll(whole, "\n", " ") // an event is one line
	event := env.WaitForEvent(f, f.Namespace, name, "SyncError", want)
	if err := says("the event", event.Message); err != nil {
		f.Error(err)
	}
	want = whole
	env.Eventually(f, func(ctx context.Context) error {
		row, err := f.syncOf(ctx, name)
		if err != nil {
			return err
		}
		if row.Status.LastSteps == nil || len(row.Status.LastSteps.Steps) == 0 {
			return fmt.Errorf("the Sync has no steps: %s", row.Status.Message)
		}
		if err := says("the step of the Sync", row.Status.LastSteps.Steps[0].Error); err != nil {
			return err
		}
		return says("the Sync", row.Status.Message)
	})
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.LastError == nil {
			return fmt.Errorf("there is no last error")
		}
		return says("lastError", status.LastError.Message)
	})
	want = strings.Join(strings.Fields(want), " ") // it is in a table
	if err := says("the plugin", strings.Join(strings.Fields(f.pluginStatus(name)), " ")); err != nil {
		f.Error(err)
	}
	f.DeleteParent(name)
	f.WaitUntilParentIsGone(name)
}

func (f *fixture) syncOf(ctx context.Context, parent string) (*v1alpha1.Sync, error) {
	syncs := env.Metacontroller.MetacontrollerV1alpha1().Syncs(f.Namespace)
	return syncs.Get(ctx, "cc:"+f.Controller.Name+":"+parent, metav1.GetOptions{})
}

func (f *fixture) isSynced(parent string) error {
	row, err := f.syncOf(f.Context(), parent)
	if err == nil && row.Status.State != v1alpha1.SyncStateSynced {
		err = fmt.Errorf("it is %s: %s", row.Status.State, row.Status.Message)
	}
	return err
}

// pluginStatus returns what the plugin prints of a parent.
func (f *fixture) pluginStatus(parent string) string {
	f.Helper()
	binary, err := env.PluginBinary(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	command := env.Host.KubectlCommand(f.Context(),
		"metacontroller", "status", f.Parents.GroupResource().String()+"/"+parent, "-n", f.Namespace)
	command.Env = append(command.Env, "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil {
		f.Fatalf("kubectl metacontroller status: %v\n%s", err, out)
	}
	return string(out)
}

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
	for asks, message := range map[string]string{
		"tier": `message: "tier is immutable, updates may not change fields other than data: use the release pipeline"`,
		"approval": `messageExpression: "'ConfigMap ' + object.metadata.name + ' must be approved; ` +
			`missing is the label \"approved-by\" (https://policies.example/42)'"`,
	} {
		words := strings.NewReplacer("POLICY", harness.Name(asks), "ASKS", asks, "MESSAGE", message, "NAMESPACE", f.Namespace)
		env.Apply(f, words.Replace(`
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
