// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// mostToComeBack is how long a server may take that starts again with its volume.
const mostToComeBack = 10 * time.Second

// restartKubelet is the variable with the command that kills the kubelet of the node, which starts again by itself. It
// is empty in clusters where the tests cannot do that.
const restartKubelet = "E2E_RESTART_KUBELET"

// interrupt takes the server away in several ways, with a controller at work. After each, everything is there that was
// before.
func interrupt(t *testing.T) {
	run(t, "kubectl apply -k %s", example("immortalcontainer"))
	before := stored(t)
	keeps := func(name string, happens func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			happens(t)
			run(t, available)
			if after := stored(t); after != before {
				t.Errorf("stored was\n%s\nand is\n%s", before, after)
			}
			run(t, "kubectl annotate --overwrite cc immortalcontainer note=%q --dry-run=server", name)
		})
	}
	keeps("its Pod is killed", killPod)
	keeps("it is away for a while", goAway)
	keeps("its storage is restored from a snapshot", restoreSnapshot)
	if os.Getenv(restartKubelet) != "" {
		keeps("the kubelet is killed", killKubelet)
	}
	run(t, "kubectl delete -k %s", example("immortalcontainer"))
}

// stored returns all that the server keeps, without what it writes by itself.
func stored(t *testing.T) string {
	t.Helper()
	return run(t, `kubectl get compositecontrollers,decoratorcontrollers,controllerrevisions.metacontroller.k8s.io -A -o json |
		jq -S '[.items[] | del(.status, .metadata.resourceVersion, .metadata.managedFields)]'`)
}

func killPod(t *testing.T) {
	run(t, "kubectl -n metacontroller delete pod metacontroller-apiserver-0 --grace-period=0 --force --wait=false 2>&1")
	until(t, "True", "kubectl -n metacontroller get pod metacontroller-apiserver-0 -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'")
	run(t, available)
	started := when(t, "kubectl -n metacontroller get pod metacontroller-apiserver-0 -o jsonpath={.status.containerStatuses[0].state.running.startedAt}")
	ready := when(t, "kubectl get apiservice v1alpha1.metacontroller.k8s.io -o jsonpath='{.status.conditions[?(@.type==\"Available\")].lastTransitionTime}'")
	t.Logf("Available %s after the start of the container", ready.Sub(started))
	if ready.Sub(started) > mostToComeBack {
		t.Errorf("the server came back after %s, at most %s is allowed", ready.Sub(started), mostToComeBack)
	}
}

// goAway stops the server. The deletion of an unrelated namespace waits for it, and goes on by itself.
func goAway(t *testing.T) {
	run(t, "kubectl create namespace unrelated")
	run(t, "kubectl -n metacontroller scale statefulset metacontroller-apiserver --replicas=0")
	run(t, "kubectl -n metacontroller wait --for=delete pod/metacontroller-apiserver-0 --timeout=60s")
	run(t, "kubectl wait --for=condition=Available=False apiservice/v1alpha1.metacontroller.k8s.io --timeout=60s")
	run(t, "kubectl delete namespace unrelated --wait=false")
	until(t, "True", "kubectl get namespace unrelated -o jsonpath='{.status.conditions[?(@.type==\"NamespaceDeletionDiscoveryFailure\")].status}'")
	run(t, "kubectl -n metacontroller scale statefulset metacontroller-apiserver --replicas=1")
	run(t, "kubectl wait --for=delete namespace/unrelated --timeout=120s")
}

// killKubelet kills the agent of the node. The Pods on it go on.
func killKubelet(t *testing.T) {
	const restarts = "kubectl -n metacontroller get pod metacontroller-apiserver-0 -o jsonpath='{.metadata.uid} {.status.containerStatuses[0].restartCount}'"
	before := run(t, restarts)
	killed := time.Now()
	shell(t, root(), os.Getenv(restartKubelet))
	eventually(t, func() error {
		_, err := tryShell(t.Context(), root(), "test $(date -d $(kubectl -n kube-node-lease get lease -o jsonpath='{.items[0].spec.renewTime}') +%s) -gt "+
			strconv.FormatInt(killed.Unix()+1, 10))
		return err
	})
	run(t, "kubectl wait --for=condition=Ready node --all --timeout=60s")
	run(t, "kubectl -n metacontroller wait --for=condition=Ready pod/metacontroller-apiserver-0 --timeout=60s")
	if after := run(t, restarts); after != before {
		t.Errorf("the Pod and its restarts were %s and are %s", before, after)
	}
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
