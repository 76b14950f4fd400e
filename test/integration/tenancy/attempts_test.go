// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/transcript"
)

// leastAttempts is the least number of commands in the transcripts.
const leastAttempts = 157

// secretOfTheBank is in all objects of the team bank.
const secretOfTheBank = "only-the-bank-knows-this"

// The transcripts in testdata/attempts are what four users try, and what they are answered: the teams
// shop and bank, each with the rights of docs/tenancy.md, an administrator, and a stranger who may create
// controllers and nothing else.
func TestAttemptsAreAnsweredAsWritten(t *testing.T) {
	t.Parallel()
	session := attemptSession(t)
	files, err := filepath.Glob("testdata/attempts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	attempts := 0
	for _, file := range files {
		commands, err := transcript.Commands(file)
		if err != nil {
			t.Fatal(err)
		}
		attempts += commands
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			session.Play(t, file)
		})
	}
	if attempts < leastAttempts {
		t.Errorf("there are %d attempts, want at least %d", attempts, leastAttempts)
	}
}

// attemptSession founds the teams and returns what the transcripts need.
func attemptSession(t *testing.T) *transcript.Session {
	t.Helper()
	env.Install(t, harness.CRD{Kind: "Website", Group: "example.com"})
	found(t, "example.com", "shop", "bank")
	env.Apply(t, strings.ReplaceAll(theBank, "SECRET", secretOfTheBank))
	waitUntilMay(t, "strangers", authorizationv1.ResourceAttributes{Group: "metacontroller.k8s.io", Resource: "compositecontrollers", Verb: "create"})
	waitUntilMay(t, "admins", authorizationv1.ResourceAttributes{Group: "metacontroller.k8s.io", Resource: "compositecontrollers", Verb: "escalate"})

	answers := hook.Serve(t, answerFromTheSpec)
	t.Cleanup(func() {
		for _, call := range answers.Calls() {
			if bytes.Contains(call.Body, []byte(secretOfTheBank)) {
				t.Errorf("the hook of the shop was sent %s", call.Body)
			}
		}
	})
	_, host, _ := strings.Cut(answers.URL(""), "://")
	session := &transcript.Session{
		Env: env, Update: *update, Users: map[string]string{},
		Words: []transcript.Word{{Word: "$HOOK", Meaning: answers.URL("")}, {Word: "$HOST", Meaning: host}},
	}
	for user, group := range map[string]string{"shop": "shop-team", "bank": "bank-team", "admin": "admins", "stranger": "strangers"} {
		kubeconfig, err := env.Host.WriteKubeconfig(user, user, group)
		if err != nil {
			t.Fatal(err)
		}
		session.Users[user] = kubeconfig
	}
	session.Words = append(session.Words, transcript.Word{Word: "$TYPES", Meaning: many(`{"apiVersion":"v%d","resource":"things"}`)},
		transcript.Word{Word: "$NAMESPACES", Meaning: many(`"namespace-%d"`)})
	session.Objects = readObjects(t, session)
	return session
}

// many is a list of one item more than lists may have.
func many(item string) string {
	var items []string
	for i := range 257 {
		items = append(items, fmt.Sprintf(item, i+1))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// readObjects returns the objects that inputs of the transcripts are patches of.
func readObjects(t *testing.T, session *transcript.Session) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/attempts/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string][]byte{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var read unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(session.Meaning(document)), &read.Object); err != nil {
			t.Fatal(err)
		}
		if objects[read.GetKind()], err = read.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

// answerFromTheSpec answers what the spec of a parent says: children to a sync hook and rules to a
// customize hook.
func answerFromTheSpec(_ context.Context, call hook.Call) hook.Answer {
	var asked composite
	if err := call.Decode(&asked); err != nil {
		return hook.Text(400, err.Error())
	}
	if call.Path == harness.CustomizePath {
		rules, _, _ := unstructured.NestedSlice(asked.Parent.Object, "spec", "rules")
		return hook.JSON(object{"relatedResources": rules})
	}
	children, _, _ := unstructured.NestedSlice(asked.Parent.Object, "spec", "children")
	return hook.JSON(object{"children": children})
}

// theBank are objects of the team bank, and the rights of the administrator and the stranger.
const theBank = `
apiVersion: v1
kind: Secret
metadata: {name: vault, namespace: bank}
stringData: {token: SECRET, username: SECRET, password: SECRET, tls.crt: SECRET, tls.key: SECRET}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: accounts, namespace: bank}
data: {ca.crt: SECRET}
---
apiVersion: example.com/v1
kind: Website
metadata: {name: bank, namespace: bank, annotations: {knows: SECRET}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: admins}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: admins}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: strangers}
rules: [{apiGroups: [metacontroller.k8s.io], resources: [compositecontrollers, decoratorcontrollers], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: strangers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: strangers}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: strangers}]
`
