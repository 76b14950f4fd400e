// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhatQuotasCountForAChild(t *testing.T) {
	type usage = map[corev1.ResourceName]string
	for name, test := range map[string]struct {
		of    schema.GroupKind
		child string
		want  usage
	}{
		"a Pod with an init container that needs more": {
			schema.GroupKind{Kind: "Pod"},
			`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"100m","memory":"1Gi"},"limits":{"cpu":"1"}}}],` +
				`"initContainers":[{"name":"i","resources":{"requests":{"cpu":"200m"}}}]}}`,
			usage{"pods": "1", "cpu": "200m", "requests.cpu": "200m", "requests.memory": "1Gi", "limits.cpu": "1", "limits.memory": "0"},
		},
		"a Pod that has failed": {
			schema.GroupKind{Kind: "Pod"}, `{"spec":{"containers":[]},"status":{"phase":"Failed"}}`, usage{"pods": "0"},
		},
		"a claim of a class": {
			schema.GroupKind{Kind: "PersistentVolumeClaim"},
			`{"spec":{"storageClassName":"fast","resources":{"requests":{"storage":"5Gi"}}}}`,
			usage{
				"persistentvolumeclaims": "1", "requests.storage": "5Gi", "fast.storageclass.storage.k8s.io/requests.storage": "5Gi",
				"slow.storageclass.storage.k8s.io/requests.storage": "0",
			},
		},
		"a Service with a load balancer": {
			schema.GroupKind{Kind: "Service"}, `{"spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,` +
				`"ports":[{"nodePort":30080},{"port":80}]}}`,
			usage{"services": "1", "services.loadbalancers": "1", "services.nodeports": "1"},
		},
		"a Service that gets node ports": {
			schema.GroupKind{Kind: "Service"}, `{"spec":{"type":"NodePort","ports":[{"port":80},{"port":81}]}}`,
			usage{"services": "1", "services.loadbalancers": "0", "services.nodeports": "2"},
		},
		"a Service without node ports": {
			schema.GroupKind{Kind: "Service"}, `{"spec":{"type":"ClusterIP","ports":[{"port":80}]}}`,
			usage{"services": "1", "services.loadbalancers": "0", "services.nodeports": "0"},
		},
		"an object that quotas only count": {schema.GroupKind{Kind: "Secret"}, `{}`, usage{"count/secrets": "1"}},
		"a ResourceClaim":                  {schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaim"}, `{}`, usage{"count/secrets": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			counted := usageOf(parsed(t, test.child), test.of, &quotaDenial{requested: amounts("count/secrets=1")})
			for resource, want := range test.want {
				if got := counted[resource]; got.String() != want {
					t.Errorf("%s is %s, want %s", resource, got.String(), want)
				}
			}
		})
	}
}
