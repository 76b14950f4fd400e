// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observing

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// Each row is a user with a Role in the namespace, and what the user may do. A refusal names the right that is missing, as
// docs/observing.md shows.
func TestWhoMaySeeAndDoWhat(t *testing.T) {
	f := newFixture(t, "rights")
	f.CreateParent("web", harness.Object{"children": 1, "secrets": 1})
	waitForState(&f, "web", v1alpha1.SyncStateSynced)
	other := env.Namespace(t)
	calls, err := env.Metacontroller.MetacontrollerV1alpha1().HookCalls(f.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(calls.Items) == 0 {
		t.Fatalf("there are %d calls, %v", len(calls.Items), err)
	}
	call := calls.Items[0].Name
	request := fmt.Sprintf("/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/%s/resync", f.Controller.Name)

	const forbidden = "Forbidden"
	user := func(rules ...string) string {
		name := harness.Name("user")
		for i, rule := range rules {
			verbs, resource, _ := strings.Cut(rule, " ")
			role := fmt.Sprint(name, "-", i)
			if strings.HasPrefix(resource, "compositecontrollers") {
				env.Kubectl(t, "create", "clusterrole", role, "--verb="+verbs, "--resource="+resource)
				env.Kubectl(t, "create", "clusterrolebinding", role, "--clusterrole="+role, "--user="+name)
				continue
			}
			env.Kubectl(t, "create", "role", role, "-n", f.Namespace, "--verb="+verbs, "--resource="+resource)
			env.Kubectl(t, "create", "rolebinding", role, "-n", f.Namespace, "--role="+role, "--user="+name)
		}
		return name
	}
	const group = ".metacontroller.k8s.io"
	things := "things." + f.Parents.Group
	tests := map[string]struct {
		rules []string
		// command and what it prints, or what its error has.
		command []string
		prints  string
		refused string
	}{
		"a stranger asks for no syncs": {
			command: []string{"create", "--raw", request, "-f", "-"}, refused: `cannot create resource "compositecontrollers/resync"`,
		},
		"who may list rows in a namespace sees them": {
			rules: []string{"get,list,watch syncs" + group}, command: []string{"get", "syncs", "-n", f.Namespace}, prints: "cc:rights:web",
		},
		"and not those of another namespace": {
			rules: []string{"get,list,watch syncs" + group}, command: []string{"get", "syncs", "-n", other}, refused: forbidden,
		},
		"and not what they say": {
			rules: []string{"get,list,watch hookcalls" + group}, command: []string{"get", "hookcall", call, "-n", f.Namespace}, refused: `resources: ["` + "things" + `"]`,
		},
		"nor who may not get a type of its children": {
			rules:   []string{"get,list,watch hookcalls" + group, "get " + things, "get configmaps", "get compositecontrollers" + group},
			command: []string{"get", "hookcall", call, "-n", f.Namespace}, refused: `resources: ["secrets"]`,
		},
		"who may get all that it shows reads a call": {
			rules:   []string{"get,list,watch hookcalls" + group, "get " + things, "get configmaps,secrets", "get compositecontrollers" + group},
			command: []string{"get", "hookcall", call, "-n", f.Namespace, "-o", "yaml"}, prints: "finalizing: false",
		},
		"who may create the subresource asks for syncs": {
			rules: []string{"create compositecontrollers" + group + "/resync"}, command: []string{"create", "--raw", request, "-f", "-"}, prints: `"parents":1`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			as := user(test.rules...)
			env.Eventually(t, func(ctx context.Context) error { // the server remembers for a while what the cluster has answered
				command := env.Host.KubectlCommand(ctx, append(test.command, "--as="+as)...)
				command.Stdin = strings.NewReader(`{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"ResyncRequest","spec":{"parents":{}}}`)
				output, err := command.CombinedOutput()
				want := test.prints
				if test.refused != "" {
					want = test.refused
				}
				if (err == nil) != (test.refused == "") || !strings.Contains(string(output), want) || strings.Contains(string(output), secret) {
					return fmt.Errorf("it prints %s, %v", output, err)
				}
				return nil
			})
		})
	}
}
