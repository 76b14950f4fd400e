// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// The tests of this file play Metacontroller's examples of protocol v2: a namespaced parent sees
// beyond its namespace.

const lists = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME}
spec:
  generateSelector: true
  parentResource: {apiVersion: $Overview, resource: overviews}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}
  hooks:
    sync: {version: v2, webhook: {url: $HOOK/sync}}
    customize: {version: v2, webhook: {url: $HOOK/customize}}
---
apiVersion: $Overview
kind: Overview
metadata: {name: all, namespace: $NAMESPACE}
`

var overview = ref{APIVersion: "$Overview", Kind: "Overview", Namespace: "$NAMESPACE", Name: "all"}

// listed returns an answer with a ConfigMap that lists the keys of the related objects of a kind.
func listed(asked object, kind string) object {
	keys := slices.Sorted(maps.Keys(scenario.At(asked, "related", kind+".v1").(object)))
	child := hook.ConfigMap("all-list", object{"list": strings.Join(keys, "\n")})
	child["metadata"].(object)["namespace"] = scenario.At(asked, "parent", "metadata", "namespace")
	return object{"status": object{"count": len(keys)}, "children": list{child}}
}

func TestExampleConfigMapListV2(t *testing.T) {
	underBothEngines(t, func(_ *testing.T, s *scenario.Scenario) {
		s.Define(harness.CRD{Kind: "Overview"})
		source := env.Namespace(s)
		s.Say("$SOURCE", source)
		s.Answers(answers{
			"/customize": func(object) object {
				return object{"relatedResources": list{object{
					"apiVersion": "v1", "resource": "configmaps", "namespace": source,
					"labelSelector": object{"matchLabels": object{"listed": "yes"}},
				}}}
			},
			"/sync": func(asked object) object { return listed(asked, "ConfigMap") },
		})
		s.Create(`
apiVersion: v1
kind: ConfigMap
metadata: {name: cm-2, namespace: $SOURCE, labels: {listed: "yes"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm-1, namespace: $SOURCE, labels: {listed: "yes"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm-3, namespace: $SOURCE}
---` + lists)
		s.Exists(scenario.ConfigMap("all-list"), scenario.Has("data.list", source+"/cm-1\n"+source+"/cm-2"))
		s.Exists(overview, scenario.Has("status.count", int64(2)))
	})
}

func TestExampleNamespaceListV2(t *testing.T) {
	underBothEngines(t, func(_ *testing.T, s *scenario.Scenario) {
		s.Define(harness.CRD{Kind: "Overview"})
		label := "of-" + s.Unique
		s.Answers(answers{
			"/customize": func(object) object {
				return object{"relatedResources": list{object{
					"apiVersion": "v1", "resource": "namespaces", "labelSelector": object{"matchLabels": object{label: "true"}},
				}}}
			},
			"/sync": func(asked object) object { return listed(asked, "Namespace") },
		})
		namespaces(s, label, "$LISTED")
		s.Create(lists)
		s.Exists(scenario.ConfigMap("all-list"), scenario.Has("data.list", s.Text("$LISTED")))
		s.Exists(overview, scenario.Has("status.count", int64(1)))
	})
}
