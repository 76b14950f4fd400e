// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// playedExample is an example that is played with its hook inside the cluster, in a namespace of its own or
// in those that it makes.
type playedExample struct {
	name string
	// hook is the name of the hook's Deployment.
	hook string
	// object is the file of its parents, and isCluster whether that names its own namespaces.
	object    string
	isCluster bool
	// before is a file that is applied first.
	before string
	steps  []exampleStep
	// clean removes what the example itself does not.
	clean string
}

// exampleStep is a command, and the text that another one comes to print after it, with single spaces.
type exampleStep struct{ do, look, until string }

func examples() []playedExample {
	return []playedExample{
		{name: "immortalcontainer", hook: "immortalcontainer", object: "forever.yaml", steps: []exampleStep{
			{"", "kubectl -n NS get ic forever -o jsonpath={.status.currentPod}", "forever-immortalpod"},
			{"", "kubectl -n NS get pod forever-immortalpod", "Running"},
			{"kubectl -n NS get pod forever-immortalpod -o jsonpath={.metadata.uid} >$TMPDIR/killed; kubectl -n NS delete pod forever-immortalpod --grace-period=1",
				"kubectl -n NS get pod forever-immortalpod -o jsonpath='{.status.phase} {.metadata.uid}' | grep -v -f $TMPDIR/killed", "Running"},
		}},
		{name: "globalconfigmap", hook: "globalconfigmap", object: "settings.yaml", isCluster: true, steps: []exampleStep{
			{"kubectl create namespace copies; kubectl label namespace copies settings=yes", "kubectl -n copies get configmap settings -o yaml", "greeting: Hello"},
			{`kubectl -n default patch configmap settings -p '{"data":{"greeting":"Good evening"}}'`, "kubectl -n copies get configmap settings -o yaml", "greeting: Good evening"},
		}, clean: "kubectl delete namespace copies --wait=false"},
		{name: "configmap-propagation", hook: "configmap-propagation-controller", object: "example-configmap.yaml", isCluster: true, steps: []exampleStep{
			{"", "kubectl get configmappropagation settings-propagation --no-headers", "settings-propagation 3 3"},
			{`kubectl patch configmap settings -n original -p '{"data":{"some":"other value"}}'`, "kubectl get configmap settings -n two -o jsonpath='{.data}'", "other value"},
		}},
		{name: "secret-propagation", hook: "secret-propagation-controller", object: "example-secret.yaml", isCluster: true, steps: []exampleStep{
			{"kubectl label namespace gamma propagate=true", "kubectl get secretpropagations --no-headers", "fine 3"},
			{"kubectl label namespace alpha propagate-", "kubectl get secretpropagations --no-headers", "fine 2"},
		}},
		{name: "clusteredparent", hook: "clusteredparent", object: "my-clusterrole.yaml", isCluster: true, steps: []exampleStep{
			{"", "kubectl -n default get rolebinding my-clusterrole -o jsonpath='{.subjects[0].name}'", "default"},
		}},
		{name: "crd-roles", hook: "crd-roles", object: "my-crd.yaml", isCluster: true, steps: []exampleStep{
			{"", "kubectl get clusterrole my-tests.ctl.rlg.io-writer -o jsonpath='{.rules[0].resources}'", "my-tests"},
		}},
		{name: "daemonjob", hook: "daemonjob", object: "my-daemonjob.yaml", steps: []exampleStep{
			{"", "kubectl -n NS get daemonjob hello-world --no-headers", "1 1 True"},
			{"", "kubectl -n NS get daemonsets 2>&1", "No resources found"},
		}},
		{name: "indexedjob", hook: "indexedjob", object: "my-indexedjob.yaml", steps: []exampleStep{
			{"", "kubectl -n NS get indexedjob print-index --no-headers", "10 0 10 True"},
			// Each log is that of its Pod. containerd may lose the log of a container that ends at once, so some may be empty.
			{"", "[[ $(for i in {0..9}; do kubectl -n NS logs print-index-$i | sed s/^$i$/printed/; done | sort -u) == printed ]] && echo all", "all"},
		}},
		{name: "namespace-list", hook: "namespace-list", object: "example.yaml", isCluster: true, steps: []exampleStep{
			{"", "kubectl -n listed-one get configmap filtered-namespaces -o jsonpath='{.data.namespaces}'", "listed-one\nlisted-two"},
		}},
		{name: "update-strategy", hook: "update-strategy", object: "my-poster.yaml", steps: []exampleStep{
			{"", "kubectl -n NS get pod my-poster", "Running"},
			{`kubectl -n NS patch poster my-poster --type=merge -p '{"spec":{"text":"second"}}'`, "kubectl -n NS logs my-poster", "second"},
		}},
		{name: "team-controller", hook: "team-controller", before: "team.yaml -f artifacts/examples/team-controller/account.yaml", object: "my-storefront.yaml", isCluster: true, steps: []exampleStep{
			{"", "kubectl -n shop get configmap corner -o jsonpath='{.data.hours}'", "9 to 5"},
		}, clean: "kubectl delete -f artifacts/examples/team-controller/team.yaml --wait=false"},
		{name: "python-lambda", hook: "python-lambda", object: "greeter.yaml", steps: []exampleStep{
			{"", "kubectl -n NS get pythonlambda greeter -o jsonpath={.status.readyReplicas}", "1"},
			{"", `kubectl -n NS exec deploy/greeter -- python3 -c 'import urllib.request as u; print(u.urlopen("http://greeter", b"{\"who\":\"World\"}", timeout=5).read().decode())'`, "Hello, World!"},
		}},
		{name: "service-per-pod", hook: "service-per-pod", object: "my-statefulset.yaml", steps: []exampleStep{
			{"", "kubectl -n NS get services -l app=service-per-pod -o name", "service/web-2"},
			{"", "kubectl -n NS exec web-0 -- timeout 5 wget -qO- http://web-2", "web-2"},
		}},
		{name: "catset", hook: "catset-controller", object: "my-catset.yaml", steps: []exampleStep{
			{"", "kubectl -n NS get catset nginx-backend -o jsonpath={.status.readyReplicas}", "3"},
			{`kubectl -n NS patch catset nginx-backend --type=merge -p '{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"nginx:1.29"}]}}}}'`,
				"kubectl -n NS get pods -l app=nginx -o jsonpath='{.items[*].spec.containers[0].image}'", "nginx:1.29 nginx:1.29 nginx:1.29"},
		}},
		{name: "bluegreen", hook: "bluegreen-controller", object: "my-bluegreen.yaml", steps: []exampleStep{
			{"", "kubectl -n NS get bluegreendeployment nginx --no-headers", "blue 3"},
			{`kubectl -n NS patch bluegreendeployment nginx --type=merge -p '{"spec":{"template":{"metadata":{"labels":{"new":"label"}}}}}'`,
				"kubectl -n NS get bluegreendeployment nginx --no-headers", "green 3"},
		}},
		{name: "rollout-preview", hook: "rollout-preview", object: "my-farm.yaml", steps: []exampleStep{
			{"", "kubectl -n NS get webfarm my-farm --no-headers", "nginx:1.28 3 True"},
			{`kubectl -n NS patch webfarm my-farm --type=merge -p '{"spec":{"image":"nginx:1.29"}}'`, "kubectl -n NS get webfarm my-farm --no-headers", "nginx:1.29 3 True"},
		}},
		{name: "tested-hook", hook: "tested-hook", object: "my-stack.yaml", steps: []exampleStep{
			{"", "kubectl -n NS get stack my-stack --no-headers", "true true"},
		}},
	}
}

func (e playedExample) play(t *testing.T) {
	dir, namespace := t.TempDir(), "example-"+e.name
	inExample := func(line string) string {
		return "TMPDIR=" + dir + "; " + strings.ReplaceAll(line, "-n NS ", "-n "+namespace+" ")
	}
	parents := "-f " + example(e.name) + "/" + e.object
	if !e.isCluster {
		parents += " -n " + namespace
	}
	run(t, "kubectl create namespace %s", namespace)
	if e.before != "" {
		run(t, "kubectl apply -f %s/%s", example(e.name), e.before)
	}
	run(t, "kubectl apply -k %s", example(e.name))
	run(t, "kubectl -n metacontroller rollout status deployment %s --timeout=120s", e.hook)
	run(t, "kubectl apply %s", parents)
	for _, step := range e.steps {
		if step.do != "" {
			run(t, "%s", inExample(step.do))
		}
		until(t, step.until, "%s", inExample(step.look))
	}
	run(t, "kubectl delete %s --ignore-not-found --timeout=120s", parents)
	if e.clean != "" {
		run(t, "%s", e.clean)
	}
	run(t, "kubectl delete -k %s --ignore-not-found --timeout=120s", example(e.name))
	run(t, "kubectl delete namespace %s --wait=false", namespace)
}
