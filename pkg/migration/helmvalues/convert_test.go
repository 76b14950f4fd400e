// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package helmvalues

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const head = "# Values of the chart of metacontroller-apiserver, from those of Metacontroller's chart.\n"

func TestConvert(t *testing.T) {
	for name, test := range map[string]struct{ from, want string }{
		"nothing":                  {"", head + "{}\n"},
		"what helm prints of none": {"USER-SUPPLIED VALUES:\nnull\n", head + "{}\n"},
		"what means the same": {`
resources: {requests: {cpu: 100m}}
nodeSelector: {disk: ssd}
serviceAccount: {create: true, annotations: {a: b}}
clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: ["*"]}]}
rbac: {create: false}
`, head + `clusterRole:
  rules:
  - apiGroups:
    - ""
    resources:
    - pods
    verbs:
    - '*'
nodeSelector:
  disk: ssd
rbac:
  create: false
resources:
  requests:
    cpu: 100m
serviceAccount:
  annotations:
    a: b
  create: true
`},
		"all that the chart has by default": {`
rbac: {create: true}
image: {repository: ghcr.io/metacontroller/metacontroller, pullPolicy: IfNotPresent, tag: ""}
imagePullSecrets: []
nameOverride: ""
namespaceOverride: ""
fullnameOverride: ""
serviceAccount: {create: true, annotations: {}, name: ""}
podAnnotations: {}
podSecurityContext: {}
securityContext: {}
resources: {}
nodeSelector: {}
tolerations: []
affinity: {}
env: []
command: /usr/bin/metacontroller
commandArgs: ["--zap-log-level=4", "--discovery-interval=20s", "--cache-flush-interval=30m", "--health-probe-bind-address=:8081"]
probes: {port: 8081}
priorityClassName: ""
clusterRole: {aggregationRule: {}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}
replicas: 1
podDisruptionBudget: {}
service: {enabled: false, ports: []}
`, head + `# These are left out:
#   command: the image has one program
#   image.repository: push the image of the server to your registry, and name it
#   probes.port: the probes use the port of the API
#   service.enabled: the Service of the API is always there, and serves /metrics
clusterRole:
  rules:
  - apiGroups:
    - '*'
    resources:
    - '*'
    verbs:
    - '*'
commandArgs:
- -v=4
- --discovery-interval=20s
- --cache-flush-interval=30m
image:
  pullPolicy: IfNotPresent
rbac:
  create: true
serviceAccount:
  create: true
`},
		"flags": {`commandArgs: [--workers, "10", -zap-encoder=console, --leader-election, --apply-strategy=server-side-apply, --zap-devel=true, --never-heard-of=1, word]`, head +
			`# These are left out:
#   commandArgs: --zap-devel: set -v and --logging-format
#   commandArgs: --never-heard-of: Metacontroller has no such flag that is known here
#   commandArgs: "word" is no flag
commandArgs:
- --workers=10
- --logging-format=text
- --leader-election
- --apply-strategy=server-side-apply
`},
		"values of older charts": {`{zap: {logLevel: debug, encoder: json}, discoveryInterval: 10s, cacheFlushInterval: 5m, commandArgs: ["--discovery-interval=20s"]}`, head +
			`commandArgs:
- --cache-flush-interval=5m
- --discovery-interval=10s
- --logging-format=json
- -v=4
- --discovery-interval=20s
`},
		"what is not known": {"{replicas: 3, podDisruptionBudget: {minAvailable: 1}, webhook: {port: 1}}", head + `# These are left out:
#   podDisruptionBudget: it is there with several replicas, which need etcd.servers
#   replicas: several share the controllers of an etcd of yours: set etcd.servers, and then replicas (docs/scaling.md)
#   webhook: Metacontroller's chart has no such value that is known here
{}
`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Convert([]byte(test.from))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConvertRefusesWhatIsNoMap(t *testing.T) {
	if got, err := Convert([]byte("- a\n")); err == nil || !strings.Contains(err.Error(), "no values of a chart") {
		t.Errorf("made %q, %v", got, err)
	}
}

// What is kept is a value of the server's chart, and what that chart refuses by its name is converted or dropped.
func TestTheChartHasWhatIsKept(t *testing.T) {
	text, err := os.ReadFile("../../../artifacts/charts/metacontroller/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Description string
			Properties  map[string]any
		}
	}
	if err := yaml.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(kept(), "commandArgs") {
		group, part, isPart := strings.Cut(name, ".")
		value, found := schema.Properties[group]
		if _, foundPart := value.Properties[part]; !found || isPart && !foundPart {
			t.Errorf("the chart has no value %s", name)
		}
	}
	known := slices.Concat(slices.Collect(maps.Keys(dropped())), slices.Collect(maps.Keys(converted())))
	for name, value := range schema.Properties {
		if strings.HasPrefix(value.Description, "Of Metacontroller's chart") && !slices.ContainsFunc(known, func(is string) bool { return is == name || strings.HasPrefix(is, name+".") }) {
			t.Errorf("nothing is known of the value %s of Metacontroller's chart", name)
		}
	}
}

// The tables of the documentation have each value and each flag.
func TestThePageHasEachValue(t *testing.T) {
	text, err := os.ReadFile("../../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(kept(), slices.Collect(maps.Keys(converted())), slices.Collect(maps.Keys(dropped()))) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/migrate.md has no value `%s`", name)
		}
	}
	for _, name := range slices.Concat(keptFlags(), slices.Collect(maps.Keys(droppedFlags())), []string{"zap-log-level", "zap-encoder"}) {
		if !strings.Contains(string(text), "`--"+name+"`") {
			t.Errorf("docs/migrate.md has no flag `--%s`", name)
		}
	}
}
