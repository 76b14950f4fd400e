// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// The tests of this file are those that Metacontroller itself has to pass, under the same names.

// custom is a controller of custom parents and children. The parents have selectors.
const custom = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME}
spec:
  parentResource: {apiVersion: $Parent, resource: parents}
  childResources: $CHILDREN
  hooks:
    sync: {webhook: {url: $HOOK/sync}}
`

const customParent = `
apiVersion: $Parent
kind: Parent
metadata: {name: $NAME, namespace: $NAMESPACE}
spec: {replicas: 1, selector: {matchLabels: {test: $NAME}}}
`

const customOrphan = `
apiVersion: $Child
kind: Child
metadata: {name: $NAME, namespace: $NAMESPACE, labels: {test: $NAME}}
`

var customParentRef = ref{APIVersion: "$Parent", Kind: "Parent", Namespace: "$NAMESPACE", Name: "$NAME"}

func customChild(name string) ref {
	return ref{APIVersion: "$Child", Kind: "Child", Namespace: "$NAMESPACE", Name: name}
}

func defineParentsAndChildren(s *scenario.Scenario) {
	s.Helper()
	s.Define(harness.CRD{Kind: "Parent"})
	s.Define(harness.CRD{Kind: "Child"})
	s.Say("$CHILDREN", "[{apiVersion: $Child, resource: childs}]")
}

// child is a desired child with the label that the selector of the parent asks for.
func child(s *scenario.Scenario, name string) object {
	return object{
		"apiVersion": s.Text("$Child"), "kind": "Child",
		"metadata": object{"name": name, "labels": object{"test": s.Unique}},
	}
}

func TestSyncWebhook(t *testing.T) { testSyncWebhook(t, "v1") }

func TestSyncWebhookV2(t *testing.T) { testSyncWebhook(t, "v2") }

func testSyncWebhook(t *testing.T, version string) {
	underBothEngines(t, func(_ *testing.T, s *scenario.Scenario) {
		defineParentsAndChildren(s)
		s.Answers(answers{"/sync": func(asked object) object {
			return object{"children": list{child(s, scenario.At(asked, "parent", "metadata", "name").(string))}}
		}})
		for attempt := 1; updateTooLate(s, version); attempt++ {
			if attempt == 10 {
				s.Fatal("no controller could be updated at once")
			}
			s.Delete(theController)
			s.Gone(theController)
		}
		s.Create(customParent)
		s.Exists(customChild("$NAME"), scenario.Has("metadata.labels.test", s.Unique))
	})
}

// updateTooLate creates a controller and updates the version of its hook at once. That must not be
// a conflict. It returns true if there was one because the machine was too slow.
func updateTooLate(s *scenario.Scenario, version string) bool {
	s.Helper()
	const atOnce = 250 * time.Millisecond
	began := time.Now()
	controller := s.Create(custom)
	if err := unstructured.SetNestedField(controller.Object, version, "spec", "hooks", "sync", "version"); err != nil {
		s.Fatal(err)
	}
	controllers := env.Dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource("compositecontrollers"))
	_, err := controllers.Update(s.Context(), controller, metav1.UpdateOptions{})
	if err == nil {
		return false
	}
	if took := time.Since(began); !apierrors.IsConflict(err) || took < atOnce {
		s.Fatalf("update a controller within %s of its creation: %v", took, err)
	}
	return true
}

const job = `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: pi, image: perl}]
`

// The dependents of a deleted child are deleted too, also for types where that is not the host's
// default.
func TestCascadingDelete(t *testing.T) {
	underBothEngines(t, func(_ *testing.T, s *scenario.Scenario) {
		s.Define(harness.CRD{Kind: "Parent"})
		s.Say("$CHILDREN", "[{apiVersion: batch/v1, resource: jobs}]")
		s.Answers(answers{"/sync": func(asked object) object {
			if scenario.At(asked, "parent", "spec", "replicas") == float64(0) {
				return object{}
			}
			child := s.Parse(job)
			child["metadata"] = object{"name": s.Unique, "labels": object{"test": s.Unique}}
			return object{"children": list{child}}
		}})
		s.Create(custom + "\n---\n" + customParent)
		child := ref{APIVersion: "batch/v1", Kind: "Job", Namespace: "$NAMESPACE", Name: "$NAME"}
		s.Exists(child)
		s.Patch(customParentRef, `{spec: {replicas: 0}}`)
		s.Gone(child)
	})
}

// A sync that the hook requested comes in time. Nothing else leads to a sync. On a busy machine it
// may be late, so the hook repeats the request until one is in time.
func TestResyncAfter(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.Define(harness.CRD{Kind: "Parent"})
	s.Say("$CHILDREN", "[]")
	var mu sync.Mutex
	var asked time.Time
	var elapsed float64
	s.Answers(answers{"/sync": func(request object) object {
		mu.Lock()
		defer mu.Unlock()
		if scenario.At(request, "parent", "status") == nil {
			return object{"status": object{}}
		}
		if took := time.Since(asked); elapsed == 0 && !asked.IsZero() && took <= time.Second {
			elapsed = took.Seconds()
		}
		if elapsed > 0 {
			return object{"status": object{"elapsedSeconds": elapsed}}
		}
		asked = time.Now()
		return object{"resyncAfterSeconds": 0.1}
	}})
	s.Create(custom + "\n---\n" + customParent)
	parent := s.Exists(customParentRef, func(parent *unstructured.Unstructured) error {
		if _, found, err := unstructured.NestedFloat64(parent.Object, "status", "elapsedSeconds"); !found || err != nil {
			return fmt.Errorf("no sync that was asked for after 0.1 s came within a second, the status is %v: %w", parent.Object["status"], err)
		}
		return nil
	})
	if seconds := scenario.At(parent.Object, "status", "elapsedSeconds").(float64); seconds < 0.1 {
		t.Errorf("the sync that was asked for after 0.1 s came after %v s", seconds)
	}
}

// customizing is a controller of custom parents with a customize hook.
const customizing = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME}
spec:
  generateSelector: true
  parentResource: {apiVersion: $Parent, resource: parents}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  hooks:
    sync: {webhook: {url: $HOOK/sync}}
    customize: {webhook: {url: $HOOK/customize}}
`

const relatedConfigMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: $NAME, namespace: $NAMESPACE}
data: {value: "1"}
`

// customized is a scenario whose hook names a child after the related ConfigMap, with its data. The
// status says under which keys related objects are sent.
func customized(t *testing.T) *scenario.Scenario {
	t.Helper()
	s := scenario.New(t, env)
	s.Define(harness.CRD{Kind: "Parent"})
	s.Answers(answers{
		"/customize": func(object) object {
			return object{"relatedResources": list{object{"apiVersion": "v1", "resource": "configmaps", "names": list{s.Unique}}}}
		},
		"/sync": func(asked object) object {
			children, keys := list{}, list{}
			for key, related := range scenario.At(asked, "related", "ConfigMap.v1").(object) {
				name := scenario.At(related.(object), "metadata", "name").(string)
				children = append(children, hook.ConfigMap("of-"+name, related.(object)["data"].(object)))
				keys = append(keys, key)
			}
			return object{"children": children, "status": object{"keys": keys}}
		},
	})
	s.Create(relatedConfigMap + "\n---\n" + customizing + "\n---\n" + customParent)
	return s
}

func TestCustomizeWebhook(t *testing.T) {
	t.Parallel()
	s := customized(t)
	s.Exists(scenario.ConfigMap("of-$NAME"), scenario.Has("data.value", "1"))
}

// The version can be changed while the controller runs.
func TestCustomizeWebhookV2(t *testing.T) {
	t.Parallel()
	s := customized(t)
	s.Exists(customParentRef, scenario.Has("status.keys", list{s.Unique}))
	s.Patch(theController, `{spec: {hooks: {sync: {version: v2}, customize: {version: v2}}}}`)
	s.Exists(customParentRef, scenario.Has("status.keys", list{s.Namespace + "/" + s.Unique}))
	s.Exists(scenario.ConfigMap("of-$NAME"), scenario.Has("data.value", "1"))
}

func TestFailIfNoStatusSubresourceInParentCRD(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.Define(harness.CRD{Kind: "Parent", NoStatus: true})
	s.Say("$CHILDREN", "[]")
	s.Answers(answers{"/sync": func(object) object { return object{} }})
	s.Create(custom + "\n---\n" + customParent)
	event := s.Event(theController, "SyncError", "does not have subresource 'Status' enabled")
	if want := s.Text("[$NAME] The controller does not run: CRD [$Parent, Kind=Parent] does not have subresource 'Status' enabled"); !strings.HasPrefix(event.Message, want) {
		t.Errorf("the event says\n%s\nwant\n%s", event.Message, want)
	}
}

// An existing child is adopted. It is released when it no longer matches.
func TestClaimAndOrphanChildren(t *testing.T) {
	underBothEngines(t, func(t *testing.T, s *scenario.Scenario) {
		defineParentsAndChildren(s)
		s.Answers(answers{"/sync": func(asked object) object {
			if scenario.At(asked, "parent", "spec", "replicas") == float64(0) {
				return object{}
			}
			return object{"children": list{child(s, s.Unique)}}
		}})
		orphan := s.Create(customOrphan)
		parent := s.Create(customParent)
		s.Create(custom)
		s.Exists(customChild("$NAME"), func(child *unstructured.Unstructured) error {
			owners := child.GetOwnerReferences()
			if len(owners) != 1 || owners[0].UID != parent.GetUID() || owners[0].Controller == nil || !*owners[0].Controller {
				return fmt.Errorf("it is owned by %v, not by its parent", owners)
			}
			return nil
		})
		s.Patch(customChild("$NAME"), `{metadata: {labels: {test: other}}}`)
		released := s.Exists(customChild("$NAME"), func(child *unstructured.Unstructured) error {
			if owners := child.GetOwnerReferences(); len(owners) > 0 {
				return fmt.Errorf("it is still owned by %v", owners)
			}
			return nil
		})
		s.Patch(customParentRef, `{spec: {replicas: 0}}`)
		s.Exists(customParentRef, scenario.Has("status.observedGeneration", int64(2)))
		if still := s.Exists(customChild("$NAME")); still.GetUID() != orphan.GetUID() || released.GetUID() != orphan.GetUID() {
			t.Error("the child is another one than at the beginning")
		}
	})
}
