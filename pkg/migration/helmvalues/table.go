// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package helmvalues

import "fmt"

// kept returns the values that mean the same in both charts.
func kept() []string {
	return []string{
		"affinity", "clusterRole.aggregationRule", "clusterRole.rules", "env", "global", "image.pullPolicy", "imagePullSecrets", "namespaceOverride",
		"nodeSelector", "podAnnotations", "podSecurityContext", "priorityClassName", "rbac.create", "resources", "securityContext",
		"serviceAccount.annotations", "serviceAccount.create", "tolerations",
	}
}

// converted returns the values that become others.
func converted() map[string]func(*conversion, any) {
	return map[string]func(*conversion, any){
		"commandArgs":         (*conversion).flags,
		"cacheFlushInterval":  flag("cacheFlushInterval", "cache-flush-interval"),
		"discoveryInterval":   flag("discoveryInterval", "discovery-interval"),
		"zapLogLevel":         flag("zapLogLevel", "zap-log-level"),
		"zap.devel":           flag("zap.devel", "zap-devel"),
		"zap.encoder":         flag("zap.encoder", "zap-encoder"),
		"zap.logLevel":        flag("zap.logLevel", "zap-log-level"),
		"zap.stacktraceLevel": flag("zap.stacktraceLevel", "zap-stacktrace-level"),
		"replicas":            (*conversion).replicas,
	}
}

// flag returns what converts a value that becomes a flag of the program.
func flag(name, of string) func(*conversion, any) {
	return func(c *conversion, value any) { c.args = append(c.args, c.flag(name, of, fmt.Sprint(value))...) }
}

func (c *conversion) replicas(value any) {
	if fmt.Sprint(value) != "1" {
		c.note("replicas", "several share the controllers of an etcd of yours: set etcd.servers, and then replicas (docs/scaling.md)")
	}
}

// dropped returns the values that mean nothing here, with the reason. What nobody would miss has none.
func dropped() map[string]string {
	const names = "all objects are called metacontroller-apiserver; those of Metacontroller are there, too, until it is removed"
	return map[string]string{
		"command":             "the image has one program",
		"fullnameOverride":    names,
		"image.repository":    "push the image of the server to your registry, and name it",
		"image.tag":           "it is the version of the server, by default that of the chart",
		"nameOverride":        names,
		"podDisruptionBudget": "it is there with several replicas, which need etcd.servers",
		"probes.port":         "the probes use the port of the API",
		"service.enabled":     "the Service of the API is always there, and serves /metrics",
		"service.ports":       "the Service of the API is always there; --metrics-address in commandArgs opens a port without authentication",
		"serviceAccount.name": "it is called metacontroller-apiserver, for that of Metacontroller has other rights; set it if the new one is to have another name",
	}
}
