// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"
)

const (
	manifest  = "artifacts/deploy/metacontroller.yaml"
	available = "kubectl wait --for=condition=Available apiservice/v1alpha1.metacontroller.k8s.io --timeout=60s"
	// mostToInstall is how long the installation may take with the image in the registry.
	mostToInstall = 20 * time.Second
	// mostToComeBack is how long a server may take that starts again with its volume.
	mostToComeBack = 10 * time.Second
)

// The server is installed, used, killed and removed, in this order.
func TestTheServerInACluster(t *testing.T) {
	if !t.Run("install", install) {
		return
	}
	t.Run("use", func(t *testing.T) {
		for name, test := range uses() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				begin := time.Now()
				test(t)
				took(t, begin, name)
			})
		}
	})
	t.Run("kill", kill)
	t.Run("remove", remove)
}

func install(t *testing.T) {
	begin := time.Now()
	run(t, "kubectl apply -f %s", manifest)
	run(t, available)
	if duration := took(t, begin, "from kubectl apply to Available"); duration > mostToInstall {
		t.Errorf("the installation took %s, at most %s is allowed", duration, mostToInstall)
	}
}

func uses() map[string]func(*testing.T) {
	all := map[string]func(*testing.T){
		"create a controller": func(t *testing.T) { readPage(t, "create-a-controller.md").follow(t) },
		"pod security":        podSecurity,
		"rights":              rights,
	}
	for _, example := range examples() {
		all["example "+example.name] = example.play
	}
	return all
}

// podSecurity shows that the server's own Pod keeps to the strictest level, and that its namespace lets hooks
// run that do not.
func podSecurity(t *testing.T) {
	run(t, "kubectl create namespace strict")
	run(t, "kubectl label namespace strict pod-security.kubernetes.io/enforce=restricted")
	if out, err := tryShell(t.Context(), root(), "kubectl -n strict run hook --image=busybox --dry-run=server -- sleep 1"); err == nil {
		t.Errorf("the level restricted is not enforced: %s", out)
	}
	run(t, `kubectl -n metacontroller get pod metacontroller-apiserver-0 -o json |
		jq '{apiVersion, kind, metadata: {name: "copy", namespace: "strict"}, spec: (.spec | del(.nodeName, .serviceAccountName, .serviceAccount, .priority, .priorityClassName, .preemptionPolicy) | .automountServiceAccountToken = false | .volumes |= map(select(.projected == null)) | .containers |= map(.volumeMounts |= map(select(.mountPath != "/var/run/secrets/kubernetes.io/serviceaccount"))))}' |
		kubectl create --dry-run=server -f -`)
	run(t, "kubectl -n metacontroller run plain-hook --image=busybox --dry-run=server -- sleep 1")
	run(t, "kubectl delete namespace strict --wait=false")
}

// rights shows that users may read controllers, and that nobody may create one who was not given that right.
func rights(t *testing.T) {
	run(t, "kubectl create namespace rights")
	run(t, "kubectl -n rights create serviceaccount viewer")
	run(t, "kubectl create clusterrolebinding rights-viewer --clusterrole=view --serviceaccount=rights:viewer")
	const viewer = "--as=system:serviceaccount:rights:viewer"
	run(t, "kubectl %s get compositecontrollers,decoratorcontrollers", viewer)
	for _, refused := range []string{
		"kubectl " + viewer + " get controllerrevisions.metacontroller.k8s.io -A",
		"kubectl " + viewer + " create -f " + example("immortalcontainer") + "/controller.yaml",
		"kubectl --as=nobody get compositecontrollers",
	} {
		if out, err := tryShell(t.Context(), root(), refused); err == nil || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("%s should be forbidden, but: %s %v", refused, out, err)
		}
	}
	run(t, "kubectl delete clusterrolebinding rights-viewer")
	run(t, "kubectl delete namespace rights --wait=false")
}

// kill kills the server with a controller at work, deletes an unrelated namespace meanwhile, and expects that
// the server is back soon with all it had.
func kill(t *testing.T) {
	run(t, "kubectl apply -k %s", example("immortalcontainer"))
	run(t, "kubectl create namespace unrelated")
	before := run(t, "kubectl get cc immortalcontainer -o jsonpath={.metadata.uid}")
	run(t, "kubectl -n metacontroller delete pod metacontroller-apiserver-0 --grace-period=0 --force --wait=false 2>&1")
	run(t, "kubectl delete namespace unrelated --timeout=120s")
	until(t, "True", "kubectl -n metacontroller get pod metacontroller-apiserver-0 -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'")
	run(t, available)
	started := when(t, "kubectl -n metacontroller get pod metacontroller-apiserver-0 -o jsonpath={.status.containerStatuses[0].state.running.startedAt}")
	ready := when(t, "kubectl get apiservice v1alpha1.metacontroller.k8s.io -o jsonpath='{.status.conditions[?(@.type==\"Available\")].lastTransitionTime}'")
	t.Logf("Available %s after the start of the container", ready.Sub(started))
	if ready.Sub(started) > mostToComeBack {
		t.Errorf("the server came back after %s, at most %s is allowed", ready.Sub(started), mostToComeBack)
	}
	if after := run(t, "kubectl get cc immortalcontainer -o jsonpath={.metadata.uid}"); after != before {
		t.Errorf("the controller was %s and is %s", before, after)
	}
	run(t, "kubectl delete -k %s", example("immortalcontainer"))
}

func when(t *testing.T, command string) time.Time {
	t.Helper()
	out := run(t, "%s", command)
	read, err := time.Parse(time.RFC3339, out)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// remove removes the server in the documented order, after which nothing of it is left.
func remove(t *testing.T) {
	run(t, "kubectl delete apiservice v1alpha1.metacontroller.k8s.io")
	run(t, "kubectl delete -f %s --ignore-not-found --timeout=120s", manifest)
	left := run(t, "kubectl get clusterroles,clusterrolebindings,apiservices,validatingadmissionpolicies,namespaces -o name | grep metacontroller || true")
	left += run(t, "kubectl -n kube-system get rolebindings -o name | grep metacontroller || true")
	if left != "" {
		t.Errorf("this is left:\n%s", left)
	}
}
