// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

const blueGreen = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME}
spec:
  parentResource: {apiVersion: $BlueGreen, resource: bluegreens}
  childResources:
  - {apiVersion: v1, resource: services, updateStrategy: {method: InPlace}}
  - {apiVersion: apps/v1, resource: replicasets, updateStrategy: {method: InPlace}}
  hooks: {sync: {webhook: {url: $HOOK/sync}}}
---
apiVersion: $BlueGreen
kind: BlueGreen
metadata: {name: nginx, namespace: $NAMESPACE}
spec:
  replicas: 3
  minReadySeconds: 5
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec: {containers: [{name: nginx, image: "nginx:1.7.9", ports: [{containerPort: 80}]}]}
  service:
    metadata: {name: nginx-frontend, labels: {app: nginx}}
    spec: {selector: {app: nginx}, ports: [{port: 80}]}
`

// podTemplate is the annotation of a ReplicaSet that holds the template of its parent.
const podTemplate = "example.com/pod-template"

// colour is one of the two ReplicaSets, observed and desired.
type colour struct {
	name     string
	replicas any
	template object
	observed object // nil if there is none
}

func observedColour(asked object, name string) colour {
	found := colour{name: name, replicas: 0.0, template: scenario.At(asked, "parent", "spec", "template").(object)}
	observed, exists := scenario.At(asked, "children", "ReplicaSet.apps/v1", "nginx-"+name).(object)
	if !exists {
		return found
	}
	found.observed = observed
	found.replicas = scenario.At(observed, "spec", "replicas")
	found.template = nil
	if err := json.Unmarshal([]byte(scenario.At(observed, "metadata", "annotations", podTemplate).(string)), &found.template); err != nil {
		panic(err)
	}
	return found
}

func (c colour) status() any {
	if status := scenario.At(c.observed, "status"); status != nil {
		return status
	}
	return object{}
}

func (c colour) replicaSet(parent object) object {
	with := func(labels any) object {
		coloured := object{"color": c.name}
		for key, value := range labels.(object) {
			coloured[key] = value
		}
		return coloured
	}
	template, err := json.Marshal(c.template)
	if err != nil {
		panic(err)
	}
	labels := with(scenario.At(c.template, "metadata", "labels"))
	return object{
		"apiVersion": "apps/v1", "kind": "ReplicaSet",
		"metadata": object{"name": "nginx-" + c.name, "labels": labels, "annotations": object{podTemplate: string(template)}},
		"spec": object{
			"replicas": c.replicas, "minReadySeconds": scenario.At(parent, "spec", "minReadySeconds"),
			"selector": object{"matchLabels": with(scenario.At(parent, "spec", "selector", "matchLabels"))},
			"template": object{"metadata": object{"labels": labels}, "spec": scenario.At(c.template, "spec")},
		},
	}
}

// blueGreenSync is the hook of the example. It creates the new template in the inactive colour.
// When all its replicas are available, the Service switches to it.
func blueGreenSync(asked object) object {
	parent := asked["parent"].(object)
	active, inactive := observedColour(asked, "blue"), observedColour(asked, "green")
	if scenario.At(asked, "children", "Service.v1", "nginx-frontend", "spec", "selector", "color") == "green" {
		active, inactive = inactive, active
	}
	status := object{"activeColor": active.name, "active": active.status(), "inactive": inactive.status()}
	wanted, template := scenario.At(parent, "spec", "replicas"), scenario.At(parent, "spec", "template").(object)
	switch {
	case active.observed == nil:
		active.replicas = wanted
	case reflect.DeepEqual(active.template, template):
		inactive.replicas = 0.0
	case inactive.observed != nil && reflect.DeepEqual(inactive.template, template):
		inactive.replicas = wanted
		if scenario.At(inactive.observed, "status", "availableReplicas") == wanted {
			active, inactive = inactive, active
		}
	case inactive.observed != nil && inactive.replicas == 0.0 && scenario.At(inactive.observed, "status", "replicas") == 0.0:
		inactive.replicas, inactive.template = wanted, template
	default:
		inactive.replicas = 0.0
	}
	service := scenario.At(parent, "spec", "service").(object)
	service["apiVersion"], service["kind"] = "v1", "Service"
	service["spec"].(object)["selector"].(object)["color"] = active.name
	return object{"status": status, "children": list{service, active.replicaSet(parent), inactive.replicaSet(parent)}}
}

// scaled does the work of the controller of ReplicaSets, which the host lacks. It waits until a
// ReplicaSet has the desired number of replicas, and reports them as available.
func scaled(s *scenario.Scenario, name string, replicas int64) {
	s.Helper()
	of := ref{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "$NAMESPACE", Name: name}
	s.Exists(of, scenario.Has("spec.replicas", replicas))
	status, err := json.Marshal(object{"status": object{"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}})
	if err != nil {
		s.Fatal(err)
	}
	s.Patch(of, string(status), "status")
}

func TestExampleBlueGreen(t *testing.T) {
	underBothEngines(t, func(_ *testing.T, s *scenario.Scenario) {
		s.Define(harness.CRD{Kind: "BlueGreen"})
		s.Answers(answers{"/sync": blueGreenSync})
		s.Create(blueGreen)
		parent := ref{APIVersion: "$BlueGreen", Kind: "BlueGreen", Namespace: "$NAMESPACE", Name: "nginx"}
		service := ref{APIVersion: "v1", Kind: "Service", Namespace: "$NAMESPACE", Name: "nginx-frontend"}
		isActive := func(colour string, generation int64) {
			s.Helper()
			s.Exists(service, scenario.Has("spec.selector", object{"app": "nginx", "color": colour}))
			s.Exists(parent, scenario.Has("status.activeColor", colour), scenario.Has("status.active.availableReplicas", int64(3)),
				scenario.Has("status.observedGeneration", generation))
		}
		scaled(s, "nginx-blue", 3)
		scaled(s, "nginx-green", 0)
		isActive("blue", 1)

		s.Patch(parent, `{spec: {template: {metadata: {labels: {new: label}}}}}`)
		scaled(s, "nginx-green", 3)
		isActive("green", 2)
		scaled(s, "nginx-blue", 0)

		s.Patch(parent, `{spec: {template: {metadata: {labels: {new2: label2}}}}}`)
		scaled(s, "nginx-blue", 3)
		isActive("blue", 3)
		scaled(s, "nginx-green", 0)
	})
}
