// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// Two teams have controllers of the same types. The hooks of one ask for everything, and every byte that
// they are sent is searched for what only the objects of the other have. The audit log says who has
// written.
func TestNoByteOfATeamReachesTheHooksOfAnother(t *testing.T) {
	t.Parallel()
	websites := env.Install(t, harness.CRD{Kind: "Website"})
	shop, bank := newTeam(t, "shop", websites.Group), newTeam(t, "bank", websites.Group)
	found(t, websites.Group, shop.name, bank.name)
	from := env.AuditEnd(t)
	t.Cleanup(func() { // also when something else fails before
		shop.expectUnseen(bank.secret)
		bank.expectUnseen(shop.secret)
	})
	for _, team := range []*team{shop, bank} {
		team.createObjects()
		team.createControllers("[" + team.name + "]")
	}
	outside := map[string]string{"everywhere": "null", "in-both": "[" + shop.name + ", " + bank.name + "]"}
	for suffix, namespaces := range outside {
		shop.createControllersNamed(suffix, namespaces)
	}
	asked := map[string]object{
		"asks-nothing":      nil,
		"asks-own":          {"apiVersion": "v1", "resource": "configmaps"},
		"asks-bank":         {"apiVersion": "v1", "resource": "configmaps", "namespace": bank.name},
		"asks-bank-secrets": {"apiVersion": "v1", "resource": "secrets", "namespace": bank.name},
		"asks-secrets":      {"apiVersion": "v1", "resource": "secrets"},
		"asks-websites":     {"apiVersion": websites.GroupVersion().String(), "resource": "websites"},
		"asks-namespaces":   {"apiVersion": "v1", "resource": "namespaces"},
		"asks-by-label":     {"apiVersion": "v1", "resource": "configmaps", "namespaceSelector": object{"matchLabels": object{}}},
	}
	synced := []string{"asks-nothing", "asks-own", "asks-websites"}
	for _, controller := range controllers() {
		for name, rule := range asked {
			shop.createParent(controller, name, rule)
			if name == "asks-own" {
				bank.createParent(controller, name, rule)
			}
		}
	}
	for _, controller := range controllers() {
		for _, name := range synced {
			shop.waitForChild(controller, name)
			shop.finish(controller, name)
		}
		bank.waitForChild(controller, "asks-own")
		bank.finish(controller, "asks-own")
		for name := range asked {
			if !slices.Contains(synced, name) {
				env.WaitForEvent(t, shop.name, controller.name()+"-"+name, "SyncError", "")
			}
		}
	}
	for suffix := range outside {
		for _, controller := range controllers() {
			shop.waitUntilForbidden(controller, suffix)
		}
	}

	shop.expectSeen(shop.secret, "/sync", "/finalize", "/customize")
	bank.expectSeen(bank.secret, "/sync", "/finalize", "/customize")
	for _, call := range shop.hook.Calls() {
		for suffix := range outside {
			if bytes.Contains(call.Body, []byte(suffix)) {
				t.Errorf("a controller whose account lacks rights has called its hook: %s", call.Body)
			}
		}
	}
	for _, team := range []*team{shop, bank} {
		team.expectWrittenByItsAccount(from)
	}
	expectNothingWrittenByTheServer(t, from)
}

// kind is a kind of controller with a version of the hook protocol.
type kind struct{ kind, version string }

func controllers() []kind {
	return []kind{{"CompositeController", "v1"}, {"CompositeController", "v2"}, {"DecoratorController", "v1"}, {"DecoratorController", "v2"}}
}

func (k kind) name() string {
	return strings.ToLower(strings.TrimSuffix(k.kind, "Controller")) + "-" + k.version
}

// team has a namespace of its name, and a secret that is in the names and the contents of its objects.
type team struct {
	*testing.T
	name, secret, group string
	hook                *hook.Server
}

func newTeam(t *testing.T, name, group string) *team {
	t.Helper()
	return &team{T: t, name: harness.Name(name), secret: harness.Name("known-to-the-" + name), group: group, hook: hook.Serve(t, makeAsTold)}
}

// makeAsTold answers rules and children as the spec of the parent says. The child has the parent's name
// and secret.
func makeAsTold(_ context.Context, call hook.Call) hook.Answer {
	var asked decorator // which has the parent of a composite request, too
	if err := call.Decode(&asked); err != nil {
		return hook.Text(400, err.Error())
	}
	parent := &asked.Parent
	if asked.Object.Object != nil {
		parent = &asked.Object
	}
	if strings.HasSuffix(call.Path, "/customize") {
		rules, _, _ := unstructured.NestedSlice(parent.Object, "spec", "rules")
		return hook.JSON(object{"relatedResources": rules})
	}
	children := "children"
	if asked.Object.Object != nil {
		children = "attachments"
	}
	if asked.Finalizing {
		return hook.JSON(object{children: []object{}, "finalized": true})
	}
	return hook.JSON(object{children: configMapOf(parent)})
}

// createObjects creates objects that have the team's secret in their names and contents.
func (m *team) createObjects() {
	m.Helper()
	m.apply(`
apiVersion: v1
kind: Secret
metadata: {name: SECRET, namespace: TEAM, labels: {of: SECRET}}
stringData: {key: SECRET}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: SECRET, namespace: TEAM, annotations: {of: SECRET}}
data: {key: SECRET}
---
apiVersion: GROUP/v1
kind: Website
metadata: {name: SECRET, namespace: TEAM}
spec: {value: SECRET}
`)
}

func (m *team) createControllers(namespaces string) { m.createControllersNamed("", namespaces) }

// createControllersNamed creates a controller of each kind.
func (m *team) createControllersNamed(suffix, namespaces string) {
	m.Helper()
	for _, of := range controllers() {
		hooks := []string{}
		for _, path := range []string{"sync", "finalize", "customize"} {
			hooks = append(hooks, fmt.Sprintf("%s: {version: %s, webhook: {url: %q}}", path, of.version, m.hook.URL("/"+path)))
		}
		types := "parentResource: {PARENTS}, generateSelector: true, childResources: [{CHILDREN}]"
		if of.kind == "DecoratorController" {
			types = "resources: [{PARENTS}], attachments: [{CHILDREN}]"
		}
		m.apply(strings.NewReplacer(
			"KIND", of.kind, "NAME", m.controller(of, suffix), "LIMIT", namespaces, "HOOKS", strings.Join(hooks, ", "),
			"TYPES", strings.NewReplacer(
				"PARENTS", "apiVersion: GROUP/v1, resource: websites, labelSelector: {matchLabels: {for: "+of.name()+"}}",
				"CHILDREN", "apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}",
			).Replace(types),
		).Replace(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: KIND
metadata: {name: NAME}
spec: {serviceAccount: {namespace: TEAM, name: websites}, namespaces: LIMIT, TYPES, hooks: {HOOKS}}
`))
	}
}

func (m *team) controller(of kind, suffix string) string {
	return strings.TrimSuffix(strings.Join([]string{m.name, of.name(), suffix}, "-"), "-")
}

func (m *team) apply(manifest string) {
	m.Helper()
	env.Apply(m, strings.NewReplacer("GROUP", m.group, "TEAM", m.name, "SECRET", m.secret).Replace(manifest))
}

// createParent creates a parent for a controller, whose customize hook answers the rule.
func (m *team) createParent(of kind, name string, rule object) {
	m.Helper()
	rules := []object{}
	if rule != nil {
		rules = append(rules, rule)
	}
	m.apply(fmt.Sprintf("{apiVersion: GROUP/v1, kind: Website, metadata: {name: %s-%s, namespace: TEAM, labels: {for: %[1]s}}, spec: {value: SECRET, rules: %[3]s}}",
		of.name(), name, harness.JSON(m, rules)))
}

func (m *team) waitForChild(of kind, parent string) {
	m.Helper()
	f := harness.Fixture{T: m.T, Env: env, Namespace: m.name}
	f.WaitForConfigMap(of.name()+"-"+parent, harness.HasData("value", m.secret))
}

// finish deletes a parent and waits until its finalize hook has let it go.
func (m *team) finish(of kind, parent string) {
	m.Helper()
	env.Kubectl(m, "delete", "--timeout=120s", "-n", m.name, "websites."+m.group, of.name()+"-"+parent)
}

func (m *team) waitUntilForbidden(of kind, suffix string) {
	m.Helper()
	controller := harness.Controller{Resource: strings.ToLower(of.kind) + "s", Name: m.controller(of, suffix)}
	env.WaitForReady(m, controller, metav1.ConditionFalse, "Forbidden")
}

// expectUnseen fails the test for each call of the team's hook that has a secret, as text or in base64.
func (m *team) expectUnseen(secret string) {
	m.Helper()
	for _, call := range m.hook.Calls() {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
			if bytes.Contains(call.Body, []byte(form)) || strings.Contains(fmt.Sprint(call.Path, call.Header), form) {
				m.Errorf("the hook of %s was sent %q at %s: %s", m.name, form, call.Path, call.Body)
			}
		}
	}
}

// expectSeen fails the test unless the team's hooks at all paths were sent a secret.
func (m *team) expectSeen(secret string, paths ...string) {
	m.Helper()
	for _, path := range paths {
		if !slices.ContainsFunc(m.hook.Calls(), func(call hook.Call) bool { return call.Path == path && bytes.Contains(call.Body, []byte(secret)) }) {
			m.Errorf("the hook %s of %s was not sent %q", path, m.name, secret)
		}
	}
}

// expectWrittenByItsAccount fails the test for each write of our server in the team's namespace that was
// not made as its account.
func (m *team) expectWrittenByItsAccount(from hostcluster.Position) {
	m.Helper()
	events, err := env.Host.Audit().Find(from, hostcluster.Request{Namespace: m.name, Verbs: hostcluster.Writes()})
	if err != nil {
		m.Fatal(err)
	}
	want, count := user(account{Namespace: m.name, Name: "websites"}), 0
	for _, event := range events {
		if event.User.Username != harness.ServerUser || event.ObjectRef.Resource == "events" {
			continue
		}
		if count++; event.ImpersonatedUser == nil || event.ImpersonatedUser.Username != want {
			m.Errorf("not as %s was written: %s %s", want, event.Verb, event.RequestURI)
		}
	}
	if count == 0 {
		m.Errorf("nothing was written as %s", want)
	}
}

// expectNothingWrittenByTheServer fails the test for each write that our server has made as itself, of
// whatever test. Reviews write nothing.
func expectNothingWrittenByTheServer(t *testing.T, from hostcluster.Position) {
	t.Helper()
	for _, event := range env.AuditEvents(t, from, hostcluster.Request{Verbs: hostcluster.Writes()}) {
		of := event.ObjectRef
		if of != nil && slices.Contains([]string{"authorization.k8s.io", "authentication.k8s.io", "coordination.k8s.io"}, cmp.Or(of.APIGroup, "core")) {
			continue
		}
		if of == nil || of.Resource != "events" {
			t.Errorf("the server has written as itself: %s %s", event.Verb, event.RequestURI)
		}
	}
}
