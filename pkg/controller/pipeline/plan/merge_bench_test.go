// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

// merging is a child as the host shows it and as the hook wants it now.
type merging struct {
	parent            *parent
	observed, desired *object.Object
}

// mergings are one of a ConfigMap of 1 KB and one of a Deployment that the host has put its
// defaults into. Of neither the host says how it is to be merged.
func mergings(t testing.TB) map[string]merging {
	configMap := func(version string) string {
		return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {version: %s, config: %q}}`,
			version, strings.Repeat("key=value ", 100))
	}
	const container = `{name: c%d, image: "registry.example/app:%s", ports: [{containerPort: 80%[1]d%s}], env: [{name: A, value: x}, {name: B, value: x}], ` +
		`resources: {limits: {cpu: "1", memory: 1Gi}}, volumeMounts: [{name: data, mountPath: /data}]%s}`
	deployment := func(version string, defaults ...string) string {
		if defaults == nil {
			defaults = []string{"", "", "", ""}
		}
		var containers []string
		for i := range 3 {
			containers = append(containers, fmt.Sprintf(container, i, version, defaults[0], defaults[1]))
		}
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {app: shop}}, spec: {replicas: 3, selector: {matchLabels: {app: shop}}, `+
			`template: {metadata: {labels: {app: shop}}, spec: {containers: [%s], volumes: [{name: data, emptyDir: {}}]%s}}%s}}`,
			strings.Join(containers, ", "), defaults[2], defaults[3])
	}
	defaulted := deployment("v1", ", protocol: TCP", ", imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File",
		", dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30",
		", progressDeadlineSeconds: 600, revisionHistoryLimit: 10, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}")

	w := newWorld(t, web, configMaps, deployments)
	of := newParent(w.snapshot(), childRules)
	return map[string]merging{
		"ConfigMap of 1 KB": {of, w.applied(configMaps, configMap("v1"), configMap("v1")), parseYAML(t, configMap("v2"))},
		"Deployment":        {of, w.applied(deployments, defaulted, deployment("v1")), parseYAML(t, deployment("v2"))},
	}
}

func (m merging) merge(t testing.TB) {
	if change, err := (dynamicApply{m.parent, nil}).merge(m.observed, m.desired); err != nil || !change.contentDiffers {
		t.Fatal(change, err)
	}
}

func BenchmarkMerge(b *testing.B) {
	for name, merging := range mergings(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				merging.merge(b)
			}
		})
	}
}

// Merging allocates the decoded values of what is observed, last applied and desired, a copy of each,
// since it changes them, and the annotation that is written.
func TestWhatMergingAllocates(t *testing.T) {
	mergings := mergings(t)
	for name, want := range map[string]int{"ConfigMap of 1 KB": 268, "Deployment": 1580} {
		t.Run(name, func(t *testing.T) {
			alloctest.AtMost(t, want, func() { mergings[name].merge(t) })
		})
	}
}
