// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
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
		t.Parallel()
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
		f.createRefused()
		for name := range foreignMessages {
			t.Run(name, func(t *testing.T) { f.in(t).findsUnchanged(name) })
		}
		// All parents fail, and the controller shows the error of one of them.
		f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
			if status.LastError == nil {
				return errors.New("there is no last error")
			}
			_, name, _ := strings.Cut(status.LastError.Parent, "/")
			return saysUnchanged("lastError", status.LastError.Message, f.wanted(name))
		})
		shown := f.pluginStatus(slices.Sorted(maps.Keys(foreignMessages)))
		for name := range foreignMessages {
			inOneLine := strings.Join(strings.Fields(f.wanted(name)), " ")
			if err := saysUnchanged("the plugin", shown, inOneLine); err != nil {
				t.Error(err)
			}
		}
	})
}

// createRefused creates all parents. The children that the cluster takes first are there before it refuses a change.
func (f *fixture) createRefused() {
	f.Helper()
	for name, message := range foreignMessages {
		if message.before != "" {
			f.CreateParentWith(name, object{"labels": object{"step": "before"}}, object{})
		} else {
			f.CreateParent(name, object{})
		}
	}
	for name, message := range foreignMessages {
		if message.before != "" {
			f.WaitForParent(name, func(*unstructured.Unstructured) error { return f.isSynced(name) })
			f.PatchParent(name, object{"metadata": object{"labels": object{"step": nil}}})
		}
	}
}

// wanted returns the message about the child of a parent.
func (f *fixture) wanted(name string) string {
	message := foreignMessages[name]
	want := message.want
	if strings.Contains(f.Name(), "/"+string(v1alpha1.ChildApplyServerSide)) && message.wantOfApply != "" {
		want = message.wantOfApply
	}
	return strings.NewReplacer("NAMESPACE", f.Namespace, "NAME", name).Replace(want)
}

// saysUnchanged returns an error unless a text has a message, and no advice beside it to recreate a child.
func saysUnchanged(place, text, want string) error {
	switch {
	case !strings.Contains(text, want):
		return fmt.Errorf("%s does not say\n%s\nbut\n%s", place, want, text)
	case strings.Contains(strings.ReplaceAll(text, want, ""), "Recreate"):
		return fmt.Errorf("%s advises to recreate the child:\n%s", place, text)
	}
	return nil
}

// findsUnchanged finds the message about the child of a parent in the event and in the Sync.
func (f *fixture) findsUnchanged(name string) {
	f.Helper()
	want := f.wanted(name)
	inOneLine := strings.ReplaceAll(want, "\n", " ") // as events are
	event := env.WaitForEvent(f, f.Namespace, name, "SyncError", inOneLine)
	if err := saysUnchanged("the event", event.Message, inOneLine); err != nil {
		f.Error(err)
	}
	env.Eventually(f, func(ctx context.Context) error {
		row, err := f.syncOf(ctx, name)
		if err != nil {
			return err
		}
		if row.Status.LastSteps == nil || len(row.Status.LastSteps.Steps) == 0 {
			return fmt.Errorf("the Sync has no steps: %s", row.Status.Message)
		}
		if err := saysUnchanged("the step of the Sync", row.Status.LastSteps.Steps[0].Error, want); err != nil {
			return err
		}
		return saysUnchanged("the Sync", row.Status.Message, want)
	})
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

// pluginStatus returns what the plugin prints of parents, in one line.
func (f *fixture) pluginStatus(parents []string) string {
	f.Helper()
	binary, err := env.PluginBinary(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	arguments := []string{"metacontroller", "status", "-n", f.Namespace}
	for _, parent := range parents {
		arguments = append(arguments, f.Parents.GroupResource().String()+"/"+parent)
	}
	command := env.Host.KubectlCommand(f.Context(), arguments...)
	command.Env = append(command.Env, "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil {
		f.Fatalf("kubectl metacontroller status: %v\n%s", err, out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}
