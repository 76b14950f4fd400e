// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"
)

const (
	manifest  = "artifacts/deploy/metacontroller.yaml"
	available = "kubectl wait --for=jsonpath='{.status.conditions[*].reason}'=Passed " +
		"apiservice/v1alpha1.metacontroller.k8s.io --timeout=60s"
	// mostToInstall is how long the installation may take with the image in the registry.
	mostToInstall = 20 * time.Second
)

// The server is installed, used, interrupted and removed, in this order. Then it is installed in another way.
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
	t.Run("interrupt", interrupt)
	t.Run("remove", remove)
	t.Run("replicas", replicas)
}

func install(t *testing.T) {
	begin := time.Now()
	run(t, "kubectl apply -f artifacts/deploy/base/namespace.yaml -f %s", manifest)
	run(t, available)
	if duration := took(t, begin, "from kubectl apply to Available"); duration > mostToInstall {
		t.Errorf("the installation took %s, at most %s is allowed", duration, mostToInstall)
	}
}

func uses() map[string]func(*testing.T) {
	all := map[string]func(*testing.T){
		"create a controller": func(t *testing.T) { followPage(t, "docs/create-a-controller.md", "hello") },
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

// remove removes the server in the documented order, after which nothing of it is left.
func remove(t *testing.T) {
	run(t, "kubectl delete apiservice v1alpha1.metacontroller.k8s.io")
	run(t, "kubectl delete -f %s --ignore-not-found --timeout=120s", manifest)
	run(t, "kubectl get namespace metacontroller") // Metacontroller may be in it
	run(t, "kubectl delete namespace metacontroller --timeout=120s")
	left := run(t, "kubectl get clusterroles,clusterrolebindings,apiservices,validatingadmissionpolicies,namespaces -o name | grep metacontroller || true")
	left += run(t, "kubectl -n kube-system get rolebindings -o name | grep metacontroller || true")
	if left != "" {
		t.Errorf("this is left:\n%s", left)
	}
}
