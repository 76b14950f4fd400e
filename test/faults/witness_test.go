// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// witness watches what the host has in the namespace of a run, with the rights of an administrator
// and past all proxies.
type witness struct {
	stores  []cache.Store
	changed chan struct{}

	mu sync.Mutex
	// names are the names of all objects so far, by UID.
	names map[string]string
}

func watchNamespace(r *run) *witness {
	r.Helper()
	w := &witness{changed: make(chan struct{}, 1), names: map[string]string{}}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(env.Dynamic, 0, r.Namespace, nil)
	stop := make(chan struct{})
	r.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	for _, resource := range []schema.GroupVersionResource{sharedTypesOf(r).things, sharedTypesOf(r).parts, sharedTypesOf(r).items, revisions} {
		informer := factory.ForResource(resource).Informer()
		if _, err := informer.AddEventHandler(w.handler(r.kubelet, resource == sharedTypesOf(r).parts)); err != nil {
			r.Fatal(err)
		}
		w.stores = append(w.stores, informer.GetStore())
	}
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	return w
}

func (w *witness) handler(kubelet *kubelet, parts bool) cache.ResourceEventHandler {
	see := func(obj any, gone bool) {
		if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = last.Obj
		}
		seen := obj.(*unstructured.Unstructured)
		w.mu.Lock()
		w.names[string(seen.GetUID())] = seen.GetKind() + " " + seen.GetName()
		w.mu.Unlock()
		if parts && kubelet != nil && gone {
			kubelet.see(seen.GetName(), nil)
		} else if parts && kubelet != nil {
			kubelet.see(seen.GetName(), seen)
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { see(obj, false) },
		UpdateFunc: func(_, obj any) { see(obj, false) },
		DeleteFunc: func(obj any) { see(obj, true) },
	}
}

// count returns how many objects of a kind there are.
func (w *witness) count(kind string) (n int) {
	for _, store := range w.stores {
		for _, obj := range store.List() {
			if obj.(*unstructured.Unstructured).GetKind() == kind {
				n++
			}
		}
	}
	return n
}

// get returns an object, nil if there is none.
func (w *witness) get(kind, name string) *unstructured.Unstructured {
	for _, store := range w.stores {
		for _, obj := range store.List() {
			if found := obj.(*unstructured.Unstructured); found.GetKind() == kind && found.GetName() == name {
				return found
			}
		}
	}
	return nil
}

// names returns "<kind> <name>" of each object of a state.
func (want state) names() map[string]bool {
	names := map[string]bool{}
	for _, line := range want {
		var found unstructured.Unstructured
		if err := found.UnmarshalJSON([]byte(line)); err == nil {
			names[found.GetKind()+" "+found.GetName()] = true
		}
	}
	return names
}

// state returns all objects in a form that is the same in each run of a scenario, sorted. It leaves
// out those whose owner is gone: they are left to the host's garbage collector.
func (w *witness) state(names *strings.Replacer) state {
	var found state
	for _, store := range w.stores {
		for _, obj := range store.List() {
			if owner := metav1.GetControllerOf(obj.(*unstructured.Unstructured)); owner != nil && w.get(owner.Kind, owner.Name) == nil {
				continue
			}
			found = append(found, w.comparable(obj.(*unstructured.Unstructured).DeepCopy(), names))
		}
	}
	slices.Sort(found)
	return found
}

// What differs from run to run beside UIDs: times, and the names of ControllerRevisions.
var (
	timestamp    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	revisionName = regexp.MustCompile(`things\.faults\.example\.com-[0-9a-f]+`)
)

func (w *witness) comparable(found *unstructured.Unstructured, names *strings.Replacer) string {
	metadata := found.Object["metadata"].(map[string]any)
	if found.GetKind() == "Item" { // the owners of its fields decide what becomes of it
		metadata["managers"] = managersOf(found)
	}
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
		delete(metadata, field)
	}
	if found.GetKind() == "Part" { // it tells how often the spec was changed on the way
		unstructured.RemoveNestedField(found.Object, "status", "observedGeneration")
	}
	unstructured.RemoveNestedField(found.Object, "metadata", "annotations", busyAnnotation)
	if len(found.GetAnnotations()) == 0 {
		found.SetAnnotations(nil)
	}
	text, err := json.Marshal(found.Object)
	if err != nil {
		return err.Error()
	}
	line := string(text)
	w.mu.Lock()
	for uid, name := range w.names {
		line = strings.ReplaceAll(line, uid, "UID of "+name)
	}
	w.mu.Unlock()
	line = names.Replace(line)
	return revisionName.ReplaceAllString(timestamp.ReplaceAllString(line, "TIME"), "REVISION")
}

// managersOf returns who owns fields of an object, and by which sort of write.
func managersOf(found *unstructured.Unstructured) (managers []any) {
	for _, entry := range found.GetManagedFields() {
		managers = append(managers, entry.Manager+" "+string(entry.Operation))
	}
	slices.SortFunc(managers, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return managers
}

// state is what the host has: a line of JSON for each object.
type state []string

// compare returns an error if another state differs.
func (want state) compare(got state) error {
	var lines []string
	for _, line := range want {
		if !slices.Contains(got, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			lines = append(lines, "+ "+line)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("the cluster has not what it has without faults (-want +got):\n%s", strings.Join(lines, "\n"))
}
