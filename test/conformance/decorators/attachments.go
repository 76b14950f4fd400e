// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorators

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// attachValue attaches a ConfigMap with the value of the target.
func attachValue(asked object) object {
	return object{"attachments": list{hook.ConfigMap("a", object{"value": value(asked)})}}
}

// These say what happens to an attachment when the hook wants another one.
const (
	kept     = "it stays as it is"
	replaced = "it is deleted and made anew"
	updated  = "it is updated"
)

// updateMethod changes a desired attachment. There are no rollouts.
func updateMethod(method, becomes string) func(*scenario.Scenario) {
	return func(s *scenario.Scenario) {
		rule := ""
		if method != "" {
			rule = "updateStrategy: {method: " + method + "}"
		}
		start(s, rule, answers{"/sync": attachValue})
		s.Create(thing)
		first := s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "1"))
		s.Patch(theThing, `{spec: {value: "2"}}`)
		want := "2"
		if becomes == kept {
			want = "1"
			s.Settle(theThing)
		}
		second := s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", want))
		if same := first.GetUID() == second.GetUID(); same == (becomes == replaced) {
			s.Errorf("it is the same object: %v, but %s", same, becomes)
		}
		if becomes == kept {
			// After a deletion it is created in its new form.
			s.Delete(scenario.ConfigMap("a"))
			s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "2"))
		}
	}
}

// fieldsOfOthers checks that a field of another client stays, and that a field which the hook drops
// is removed.
func fieldsOfOthers(s *scenario.Scenario) {
	inPlace(s, func(asked object) object {
		data := object{"value": value(asked)}
		if value(asked) == "1" {
			data["dropped"] = "soon"
		}
		return object{"attachments": list{hook.ConfigMap("a", data)}}
	})
	s.Create(thing)
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.dropped", "soon"))
	s.Patch(scenario.ConfigMap("a"), `{metadata: {labels: {others: "yes"}}, data: {others: "yes"}}`)
	s.Patch(theThing, `{spec: {value: "2"}}`)
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data", object{"value": "2", "others": "yes"}), scenario.Has("metadata.labels.others", "yes"))
}

// drift checks that changes and deletions by another client are repaired.
func drift(s *scenario.Scenario) {
	inPlace(s, attachValue)
	s.Create(thing)
	first := s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "1"))
	s.Patch(scenario.ConfigMap("a"), `{data: {value: wrong}}`)
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "1"))
	s.Delete(scenario.ConfigMap("a"))
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "1"), func(again *unstructured.Unstructured) error {
		if again.GetUID() == first.GetUID() {
			return fmt.Errorf("it is still the first one")
		}
		return nil
	})
}

const somebodys = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: $NAMESPACE}
data: {value: somebody's}
`

// nameTaken checks a name conflict: the other object is left alone and an event reports it. The
// attachment is created when the other object is gone.
func nameTaken(s *scenario.Scenario) {
	s.Create(somebodys)
	inPlace(s, attachValue)
	s.Create(thing)
	s.Event(theThing, "ChildNameTaken", "ConfigMap $NAMESPACE/a")
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "somebody's"), scenario.Has("metadata.ownerReferences", nil))
	s.Delete(scenario.ConfigMap("a"))
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "1"))
}

// otherAnnotation gives an attachment to another decorator. It is then neither observed nor updated
// nor deleted, and its name is in conflict.
func otherAnnotation(s *scenario.Scenario) {
	inPlace(s, attachValue)
	s.Create(thing)
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "1"))
	s.Patch(scenario.ConfigMap("a"), `{metadata: {annotations: {metacontroller.k8s.io/decorator-controller: another}}, data: {value: another's}}`)
	s.Event(theThing, "ChildNameTaken", "ConfigMap $NAMESPACE/a")
	s.Patch(theThing, `{spec: {value: "2"}}`)
	s.Settle(theThing)
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "another's"))
	// It is updated again once it is given back.
	s.Patch(scenario.ConfigMap("a"), `{metadata: {annotations: {metacontroller.k8s.io/decorator-controller: $NAME}}}`)
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "2"))
}

// quiet checks that syncs which change nothing send no requests to the host.
func quiet(s *scenario.Scenario) {
	inPlace(s, func(asked object) object {
		answer := attachValue(asked)
		answer["labels"], answer["status"] = object{"marked": "yes"}, object{"count": 1.0}
		return answer
	})
	s.Create(thing)
	s.Exists(theThing, scenario.Has("metadata.labels.marked", "yes"), scenario.Has("status.count", int64(1)))
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "1"))
	s.Settle(theThing)
	from := s.Env.AuditEnd(s)
	s.Settle(theThing)
	if requests := s.Env.Requests(s, from, hostcluster.Request{Namespace: s.Namespace}); len(requests) > 0 {
		s.Errorf("quiet syncs made the requests %v", requests)
	}
}

// optingOut checks that a finalize hook can undo all changes of a target that is no longer
// selected. The finalizer is removed then.
func optingOut(s *scenario.Scenario) {
	s.Define(harness.CRD{Kind: "Thing"})
	s.Say("$ATTACHMENTS", "[{apiVersion: v1, resource: configmaps}]")
	s.Say("$RESOURCE", things+`, annotationSelector: {matchAnnotations: {wants: "a value, not a label!"}}`)
	run(s, "v1", answers{
		"/sync": func(asked object) object {
			answer := attachValue(asked)
			answer["labels"] = object{"marked": "yes"}
			return answer
		},
		"/finalize": func(asked object) object {
			left := scenario.At(asked, "attachments", "ConfigMap.v1").(object)
			return object{"labels": object{"marked": nil}, "finalized": len(left) == 0}
		},
	})
	s.Create(thing)
	s.Patch(theThing, `{metadata: {annotations: {wants: "a value, not a label!"}}}`)
	s.Exists(scenario.ConfigMap("a"))
	s.Exists(theThing, scenario.Has("metadata.labels.marked", "yes"),
		scenario.Has("metadata.finalizers", list{"metacontroller.io/decoratorcontroller-" + s.Unique}))
	s.Patch(theThing, `{metadata: {annotations: {wants: null}}}`)
	s.Gone(scenario.ConfigMap("a"))
	s.Exists(theThing, scenario.Has("metadata.labels.marked", nil), scenario.Has("metadata.finalizers", nil))
}

const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: $NAME, labels: {test: $NAME}}
rules: []
`

// clusterScoped attaches an object in a namespace to a cluster-scoped target of a built-in type.
func clusterScoped(s *scenario.Scenario) {
	s.Say("$ATTACHMENTS", "[{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]")
	s.Say("$RESOURCE",
		"apiVersion: rbac.authorization.k8s.io/v1, resource: clusterroles, labelSelector: {matchLabels: {test: $NAME}}")
	run(s, "v2", answers{"/sync": func(asked object) object {
		rules, _ := scenario.At(asked, "object", "rules").(list)
		attached := hook.ConfigMap("a", object{"rules": fmt.Sprint(len(rules))})
		attached["metadata"].(object)["namespace"] = s.Namespace
		return object{"attachments": list{attached}}
	}})
	s.Create(role)
	target := ref{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "$NAME"}
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.rules", "0"))
	s.Patch(target, `{rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`)
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.rules", "1"))
	s.Delete(scenario.ConfigMap("a"))
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.rules", "1"))
	s.Delete(target)
	s.Collected(scenario.ConfigMap("a"))
}
