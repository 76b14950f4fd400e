// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// originalManager is the field manager of Metacontroller's writes.
const originalManager = "metacontroller"

// What Metacontroller leaves in a cluster, written with its own names: this must not follow the code of the server.
const (
	lastApplied         = "metacontroller.k8s.io/last-applied-configuration"
	decoratorAnnotation = "metacontroller.k8s.io/decorator-controller"
	compositeFinalizer  = "metacontroller.io/compositecontroller-"
	decoratorFinalizer  = "metacontroller.io/decoratorcontroller-"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// shape is what a controller is like.
type shape struct {
	name      string
	method    string
	finalizes bool
	// decorates is true for a DecoratorController.
	decorates bool
	// rolls is true if its children are Parts, of which each parent has two.
	rolls bool
}

// estate is what Metacontroller has left: controllers, parents, children and revisions.
type estate struct {
	*world
	namespace     string
	things, parts schema.GroupVersionResource
	hooks         string // the URL of the hooks
	// serverSide is true if Metacontroller wrote children by server-side apply.
	serverSide bool
	shapes     []shape
}

// together does something for many at once.
func (e *estate) together(count int, do func(i int) error) {
	e.Helper()
	var group errgroup.Group
	group.SetLimit(24)
	for i := range count {
		group.Go(func() error { return do(i) })
	}
	if err := group.Wait(); err != nil {
		e.Fatal(err)
	}
}

func (e *estate) in(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return env.Dynamic.Resource(resource).Namespace(e.namespace)
}

// leaveController creates a controller.
func (e *estate) leaveController(of shape) (*unstructured.Unstructured, error) {
	hook := func(path string) harness.Object {
		return harness.Object{"version": "v1", "webhook": harness.Object{"url": e.hooks + path + "/" + of.name}}
	}
	hooks := harness.Object{"sync": hook("/sync")}
	if of.finalizes {
		hooks["finalize"] = hook("/finalize")
	}
	child := harness.Object{"apiVersion": "v1", "resource": "configmaps"}
	strategy := harness.Object{"method": of.method}
	if of.rolls {
		child = harness.Object{"apiVersion": e.parts.GroupVersion().String(), "resource": e.parts.Resource}
		strategy["statusChecks"] = harness.Object{"conditions": []any{harness.Object{"type": "Ready", "status": "True"}}}
	}
	if of.method != "" {
		child["updateStrategy"] = strategy
	}
	parent := harness.Object{"apiVersion": e.things.GroupVersion().String(), "resource": e.things.Resource}
	selector := harness.Object{"matchLabels": harness.Object{"for": of.name}}
	parent["labelSelector"] = selector
	made := &unstructured.Unstructured{Object: harness.Object{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController",
		"metadata": harness.Object{"name": of.name, "labels": harness.Object{"app": "shop"}, "annotations": harness.Object{"note": of.name}},
		"spec":     harness.Object{"generateSelector": true, "parentResource": parent, "childResources": []any{child}, "hooks": hooks},
	}}
	resource := compositeControllers
	if of.decorates {
		made.SetKind("DecoratorController")
		made.Object["spec"] = harness.Object{"resources": []any{parent}, "attachments": []any{child}, "hooks": hooks}
		resource = decoratorControllers
	}
	return env.Dynamic.Resource(resource).Create(e.Context(), made, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
}

// parentName is the name of the parent of a number.
func (of shape) parentName(i int) string { return fmt.Sprintf("%s-%d", of.name, i) }

// leaveParent creates a parent with its children, as they are after a sync.
func (e *estate) leaveParent(of shape, i int) error {
	parent := &unstructured.Unstructured{Object: harness.Object{
		"apiVersion": e.things.GroupVersion().String(), "kind": "Thing",
		"metadata": harness.Object{"name": of.parentName(i), "namespace": e.namespace, "labels": harness.Object{"for": of.name}},
		"spec":     harness.Object{"value": "2"},
	}}
	if of.finalizes {
		parent.SetFinalizers([]string{compositeFinalizer + of.name})
		if of.decorates {
			parent.SetFinalizers([]string{decoratorFinalizer + of.name})
		}
	}
	parent, err := e.in(e.things).Create(e.Context(), parent, metav1.CreateOptions{FieldManager: originalManager})
	if err != nil {
		return err
	}
	status := harness.Object{"value": "2"}
	if !of.decorates {
		status["observedGeneration"] = parent.GetGeneration()
	}
	if of.rolls {
		if err := e.leaveRollout(of, i, parent, status); err != nil {
			return err
		}
	} else if err := e.leaveChild(of, parent, e.desired(of, parent, "2", "")); err != nil {
		return err
	}
	parent.Object["status"] = status
	if _, err := e.in(e.things).UpdateStatus(e.Context(), parent, metav1.UpdateOptions{FieldManager: originalManager}); err != nil {
		return err
	}
	if of.finalizes && i == 0 { // one is being deleted, and its hook is not done
		return e.in(e.things).Delete(e.Context(), parent.GetName(), metav1.DeleteOptions{})
	}
	return nil
}

// desired is a child as the hook answers it, with what Metacontroller adds before it applies it.
func (e *estate) desired(of shape, parent *unstructured.Unstructured, value, suffix string) harness.Object {
	metadata := harness.Object{"name": parent.GetName() + suffix, "namespace": parent.GetNamespace()}
	if of.decorates {
		metadata["annotations"] = harness.Object{decoratorAnnotation: of.name}
	} else {
		metadata["labels"] = harness.Object{"controller-uid": string(parent.GetUID())}
	}
	if of.rolls {
		return harness.Object{"apiVersion": e.parts.GroupVersion().String(), "kind": "Part", "metadata": metadata, "spec": harness.Object{"value": value}}
	}
	return harness.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": harness.Object{"value": value, "html": "<b>&"}}
}

// leaveChild writes a child as Metacontroller does.
func (e *estate) leaveChild(of shape, parent *unstructured.Unstructured, desired harness.Object) error {
	child := (&unstructured.Unstructured{Object: desired}).DeepCopy()
	resource := configMaps
	if of.rolls {
		resource = e.parts
	}
	yes := true
	owner := metav1.OwnerReference{APIVersion: parent.GetAPIVersion(), Kind: parent.GetKind(), Name: parent.GetName(), UID: parent.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}
	child.SetOwnerReferences([]metav1.OwnerReference{owner})
	if e.serverSide {
		_, err := e.in(resource).Apply(e.Context(), child.GetName(), child, metav1.ApplyOptions{FieldManager: originalManager, Force: true})
		return err
	}
	canonical, err := json.Marshal(desired)
	if err != nil {
		return err
	}
	annotations := child.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[lastApplied] = string(canonical)
	child.SetAnnotations(annotations)
	_, err = e.in(resource).Create(e.Context(), child, metav1.CreateOptions{FieldManager: originalManager})
	return err
}

// leaveRollout leaves the two children of a parent, and its revisions. Of the first parent the rolling update is in the middle: it waits
// for the child that was moved last.
func (e *estate) leaveRollout(of shape, i int, parent *unstructured.Unstructured, status harness.Object) error {
	latest := "2"
	values := map[string]string{"-a": "2", "-b": "2"}
	claims := map[string][]any{"2": {parent.GetName() + "-a", parent.GetName() + "-b"}}
	condition := harness.Object{"type": "Updated", "status": "True", "reason": "OnLatestRevision"}
	if i == 0 {
		values["-b"] = "1"
		claims = map[string][]any{"2": {parent.GetName() + "-a"}, "1": {parent.GetName() + "-b"}}
		condition = harness.Object{"type": "Updated", "status": "False", "reason": "RolloutWaiting", "message": "missing child Part " + parent.GetName() + "-a"}
	}
	for suffix, value := range values {
		if err := e.leaveChild(of, parent, e.desired(of, parent, value, suffix)); err != nil {
			return err
		}
	}
	for value, names := range claims {
		name, err := e.leaveRevision(parent, value, names)
		if err != nil {
			return err
		}
		if value == latest && i > 0 {
			condition["message"] = "latest ControllerRevision: " + name
		}
	}
	status["conditions"] = []any{condition}
	return nil
}

// leaveRevision leaves a ControllerRevision of a parent.
func (e *estate) leaveRevision(parent *unstructured.Unstructured, value string, children []any) (name string, err error) {
	patch := harness.Object{"spec": harness.Object{"value": value}}
	canonical, err := json.Marshal(patch)
	if err != nil {
		return "", err
	}
	hash := sha1.Sum(append([]byte(parent.GetUID()), canonical...))
	name = fmt.Sprintf("%s.%s-%s", e.things.Resource, e.things.Group, hex.EncodeToString(hash[:]))
	revision := &unstructured.Unstructured{Object: harness.Object{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "ControllerRevision",
		"metadata": harness.Object{"name": name, "namespace": e.namespace, "labels": harness.Object{
			"controller-uid": string(parent.GetUID()), "metacontroller.k8s.io/apiGroup": e.things.Group, "metacontroller.k8s.io/resource": e.things.Resource,
		}},
		"parentPatch": patch,
		"children":    []any{harness.Object{"apiGroup": e.parts.Group, "kind": "Part", "names": children}},
	}}
	yes := true
	revision.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: parent.GetAPIVersion(), Kind: parent.GetKind(), Name: parent.GetName(), UID: parent.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
	}})
	_, err = e.in(controllerRevisions).Create(e.Context(), revision, metav1.CreateOptions{FieldManager: originalManager})
	return name, err
}

// leave creates everything: each controller has so many parents.
func (e *estate) leave(parents int) {
	e.Helper()
	e.together(len(e.shapes), func(i int) error {
		_, err := e.leaveController(e.shapes[i])
		return err
	})
	e.together(len(e.shapes)*parents, func(i int) error { return e.leaveParent(e.shapes[i/parents], i%parents) })
}

// census returns the UIDs of parents and children, and the content of what moves, by kind and name.
func (e *estate) census() map[string]string {
	e.Helper()
	all := map[string]string{}
	for _, resource := range append([]schema.GroupVersionResource{configMaps, e.things, e.parts}, kinds...) {
		client := dynamic.ResourceInterface(env.Dynamic.Resource(resource))
		if resource == configMaps {
			client = e.in(resource)
		}
		list, err := client.List(e.Context(), metav1.ListOptions{})
		if err != nil {
			e.Fatal(err)
		}
		for _, of := range list.Items {
			name := fmt.Sprintf("%s %s/%s", of.GetKind(), of.GetNamespace(), of.GetName())
			if all[name] = string(of.GetUID()); slices.Contains(kinds, resource) {
				all[name] = moved(&of)
			}
		}
	}
	return all
}

// moved returns what must be the same of an object after a move.
func moved(of *unstructured.Unstructured) string {
	of = of.DeepCopy()
	of.SetUID("")
	of.SetResourceVersion("")
	of.SetGeneration(0)
	of.SetCreationTimestamp(metav1.Time{})
	of.SetManagedFields(nil)
	of.SetFinalizers(nil)
	delete(of.Object, "status")
	if of.GetKind() == "ControllerRevision" { // the server annotates them, and has them block no deletion
		of.SetAnnotations(nil)
		owners := of.GetOwnerReferences()
		for i := range owners {
			owners[i].BlockOwnerDeletion = nil
		}
		of.SetOwnerReferences(owners)
	}
	encoded, err := of.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

// expectSurvived fails the test if something is not there any more, or another one.
func (e *estate) expectSurvived(before map[string]string, after string) {
	e.Helper()
	if diff := cmp.Diff(before, e.census()); diff != "" {
		e.Errorf("after %s (-before +now):\n%s", after, diff)
	}
}
