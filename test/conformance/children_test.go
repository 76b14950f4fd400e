// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// A child that is being deleted is not written, whatever the update method. It is created again
// when it is gone.
func TestChildThatIsBeingDeletedIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"OnDelete", "Recreate", "InPlace"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s := withThings(t, func(asked object) object {
				child := hook.ConfigMap("a", object{"value": scenario.At(asked, "parent", "spec", "value")})
				return object{"children": list{child}, "status": object{"children": len(scenario.At(asked, "children", "ConfigMap.v1").(object))}}
			})
			s.Say("$METHOD", method)
			s.Create(things + "\n---\n" + aThing + `spec: {value: "1"}`)
			s.Exists(scenario.ConfigMap("a"))
			s.Patch(scenario.ConfigMap("a"), `{metadata: {finalizers: [example.com/hold]}}`)
			s.Delete(scenario.ConfigMap("a"))
			dying := s.Exists(scenario.ConfigMap("a"), func(child *unstructured.Unstructured) error {
				if child.GetDeletionTimestamp() == nil {
					return errors.New("it is not being deleted yet")
				}
				return nil
			})
			s.Patch(theThing, `{spec: {value: "2"}}`)
			s.Exists(theThing, scenario.Has("status", object{"children": int64(1), "observedGeneration": int64(2)}))
			if after := s.Exists(scenario.ConfigMap("a")); after.GetResourceVersion() != dying.GetResourceVersion() {
				t.Errorf("it was written to while it was being deleted:\n%v\n%v", dying, after)
			}
			s.Patch(scenario.ConfigMap("a"), `{metadata: {finalizers: null}}`)
			s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "2"))
		})
	}
}

// The generated label is set on children, but not on the Pod template inside a child. A hook may
// set it itself.
func TestGeneratedLabelIsOnTopLevelObjects(t *testing.T) {
	t.Parallel()
	s := withThings(t, func(object) object {
		labels := object{"app": "web"}
		return object{"children": list{object{
			"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": object{"name": "a", "labels": labels},
			"spec": object{
				"replicas": 0, "selector": object{"matchLabels": labels},
				"template": object{"metadata": object{"labels": labels}, "spec": object{"containers": list{object{"name": "web", "image": "web:1"}}}},
			},
		}}}
	})
	s.Say("$CHILD", "apiVersion: apps/v1, resource: replicasets")
	s.Create(things)
	parent := s.Create(aThing)
	s.Exists(ref{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "$NAMESPACE", Name: "a"},
		scenario.Has("metadata.labels", object{"app": "web", "controller-uid": string(parent.GetUID())}),
		scenario.Has("spec.template.metadata.labels", object{"app": "web"}),
		scenario.Has("spec.selector.matchLabels", object{"app": "web"}))
}

// A cluster-scoped parent has namespaced and cluster-scoped children. The keys of the former have a
// namespace. The host's garbage collector deletes both with the parent.
func TestClusterScopedParentHasChildrenOfBothScopes(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := newScenario(t)
			s.Define(harness.CRD{Kind: "Fleet", ClusterScoped: true})
			other := env.Namespace(t)
			s.Say("$OTHER", other)
			s.Answers(answers{"/sync": func(asked object) object {
				children := list{object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": object{"name": s.Unique}}}
				for _, namespace := range []string{s.Namespace, other} {
					child := hook.ConfigMap("a", nil)
					child["metadata"].(object)["namespace"] = namespace
					children = append(children, child)
				}
				seen := object{}
				for group, found := range asked["children"].(object) {
					for key := range found.(object) {
						seen[key] = group
					}
				}
				return object{"children": children, "status": object{"seen": seen}}
			}})
			s.Create(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME}
spec:
  generateSelector: true
  parentResource: {apiVersion: $Fleet, resource: fleets}
  childResources:
  - {apiVersion: v1, resource: configmaps}
  - {apiVersion: rbac.authorization.k8s.io/v1, resource: clusterroles}
  hooks: {sync: {version: ` + version + `, webhook: {url: $HOOK/sync}}}
---
apiVersion: $Fleet
kind: Fleet
metadata: {name: $NAME}
`)
			fleet := ref{APIVersion: "$Fleet", Kind: "Fleet", Name: "$NAME"}
			s.Exists(fleet, scenario.Has("status.seen", object{
				s.Unique: "ClusterRole.rbac.authorization.k8s.io/v1", s.Namespace + "/a": "ConfigMap.v1", other + "/a": "ConfigMap.v1",
			}))
			s.Delete(fleet)
			for _, child := range []ref{
				{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "$NAME"},
				scenario.ConfigMap("a"), {APIVersion: "v1", Kind: "ConfigMap", Namespace: "$OTHER", Name: "a"},
			} {
				s.Collected(child)
			}
		})
	}
}

// A child of a type that the host does not have is an error. The other children are still created.
func TestChildOfAnUnknownTypeDoesNotKeepTheOthersBack(t *testing.T) {
	t.Parallel()
	s := withThings(t, func(object) object {
		return object{"status": object{"ok": true}, "children": list{
			object{"apiVersion": "nowhere.example.com/v1", "kind": "Phantom", "metadata": object{"name": "a"}},
			hook.ConfigMap("a", object{"value": "1"}),
		}}
	})
	s.Create(things + "\n---\n" + aThing)
	s.Exists(scenario.ConfigMap("a"), scenario.Has("data.value", "1"))
	s.Event(theThing, "SyncError", "Phantom")
	s.Exists(theThing, scenario.Has("status.ok", true))
}

// The status in a desired child is ignored.
func TestStatusOfAChildIsNotTheHooks(t *testing.T) {
	t.Parallel()
	s := withThings(t, func(object) object {
		return object{"status": object{"ok": true}, "children": list{object{
			"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "a"},
			"spec":   object{"clusterIP": "None", "ports": list{object{"port": 80}}},
			"status": object{"loadBalancer": object{"ingress": list{object{"ip": "192.0.2.1"}}}},
		}}}
	})
	s.Say("$CHILD", "apiVersion: v1, resource: services")
	s.Create(things + "\n---\n" + aThing)
	s.Exists(theThing, scenario.Has("status.ok", true))
	s.Settle(theThing)
	s.Exists(ref{APIVersion: "v1", Kind: "Service", Namespace: "$NAMESPACE", Name: "a"},
		scenario.Has("status", object{"loadBalancer": object{}}))
}

// Children are deleted before others are created: a new child may need a resource of an old one.
func TestChildrenAreDeletedBeforeOthersAreCreated(t *testing.T) {
	t.Parallel()
	s := withThings(t, func(asked object) object {
		name := scenario.At(asked, "parent", "spec", "name").(string)
		return object{"children": list{hook.ConfigMap(name, nil)}}
	})
	s.Create(things + "\n---\n" + aThing + `spec: {name: old}`)
	s.Exists(scenario.ConfigMap("old"))
	// The status is written last, so the writes of children are in the audit log now.
	s.Exists(theThing, scenario.Has("status.observedGeneration", int64(1)))
	from := env.AuditEnd(t)
	s.Patch(theThing, `{spec: {name: new}}`)
	s.Exists(scenario.ConfigMap("new"))
	s.Gone(scenario.ConfigMap("old"))
	s.Exists(theThing, scenario.Has("status.observedGeneration", int64(2)))
	events := env.AuditEvents(t, from, hostcluster.Request{
		Verbs: hostcluster.Writes(), Resource: "configmaps", Namespace: s.Namespace,
	})
	var verbs []string
	for _, event := range events {
		verbs = append(verbs, event.Verb)
	}
	if len(verbs) < 2 || verbs[0] != "delete" || verbs[1] != "create" {
		t.Errorf("ConfigMaps were written to in the order %v, want delete and then create", verbs)
	}
}
