// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// singleChildren is a controller whose parents have one child each, named like the parent.
type singleChildren struct {
	*fixture
	method  v1alpha1.ChildUpdateMethod
	engine  v1alpha1.ChildApplyStrategy
	types   []schema.GroupVersionResource
	words   *strings.Replacer
	mu      sync.Mutex                 // is held to replace desired
	desired map[string]json.RawMessage // by name
}

// singleChildTypes are the built-in types of the children.
var singleChildTypes = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "services"},
	{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "batch", Version: "v1", Resource: "jobs"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
}

// gadgetSchema is the schema of the spec of Gadgets.
const gadgetSchema = `{type: object, properties: {
	flag: {type: boolean}, empty: {type: object, properties: {x: {type: string}}}, list: {type: array, items: {type: string}},
	level: {type: integer, default: 3},
	containers: {type: array, items: {type: object, properties: {name: {type: string}, image: {type: string}, pull: {type: string, default: Always}}}},
	ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port, protocol],
		items: {type: object, required: [port], properties: {port: {type: integer}, protocol: {type: string, default: TCP}, note: {type: string, default: none}}}},
	names: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`

// newSingleChildren prepares a controller for children in YAML, by their titles. GADGET stands for
// the apiVersion of a custom resource with a schema, FREE for one without a schema, and TEN for the
// number 10.0.
func newSingleChildren(t *testing.T, method v1alpha1.ChildUpdateMethod, texts map[string]string) *singleChildren {
	t.Helper()
	gadgets := env.Install(t, harness.CRD{Kind: "Gadget", Schema: object{"spec": harness.FromYAML(t, spaced(gadgetSchema))}})
	frees := env.Install(t, harness.CRD{Kind: "Free"})
	o := &singleChildren{
		method: method,
		types:  append([]schema.GroupVersionResource{gadgets, frees}, singleChildTypes...),
		words:  strings.NewReplacer("GADGET", gadgets.GroupVersion().String(), "FREE", frees.GroupVersion().String()),
	}
	o.fixture = prepare(t, hook.Serve(t, answers(t, o.answer)))
	o.want(texts)
	return o
}

// want replaces the children that the hook answers.
func (o *singleChildren) want(texts map[string]string) {
	o.Helper()
	desired := map[string]json.RawMessage{}
	for title, text := range texts {
		child := &unstructured.Unstructured{Object: harness.FromYAML(o, spaced(o.words.Replace(text)))}
		child.SetName(nameOf(title))
		desired[child.GetName()] = json.RawMessage(strings.ReplaceAll(harness.JSON(o, child.Object), `"TEN"`, "10.0"))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.desired = desired
}

func (o *singleChildren) answer(asked request) object {
	o.mu.Lock()
	defer o.mu.Unlock()
	return object{"children": []json.RawMessage{o.desired[asked.Parent.GetName()]}}
}

// spaced replaces the tabs of Go code by spaces, as YAML requires.
func spaced(text string) string { return strings.ReplaceAll(text, "\t", " ") }

// nameOf returns the name of the child with that title.
func nameOf(title string) string {
	return strings.ToLower(strings.NewReplacer(" ", "-", ".", "-").Replace(title))
}

// run runs the controller.
func (o *singleChildren) run() {
	o.Helper()
	o.RunComposite(o.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = nil
		for _, child := range o.types {
			spec.ChildResources = append(spec.ChildResources, harness.ChildRule(child.GroupVersion().String(), child.Resource, o.method))
		}
		applied(o.engine)(spec)
	}))
}

// createAll runs the controller and creates the parents, and waits until all children
// are there.
func (o *singleChildren) createAll() {
	o.Helper()
	o.run()
	for name := range o.desired {
		o.CreateParent(name, object{})
	}
	o.waitUntilSynced("created", func(asked request) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(asked.Children)),
			func(named map[string]object) bool { return named[asked.Parent.GetName()] != nil })
	})
}

// waitUntilSynced annotates all parents twice and waits for the calls. A second call about a parent
// shows that the sync before it has ended.
func (o *singleChildren) waitUntilSynced(touch string, complete func(request) bool) {
	o.Helper()
	for _, round := range []string{touch + "-once", touch + "-twice"} {
		before := len(o.Hook.Calls())
		for name := range o.desired {
			o.PatchParent(name, object{"metadata": object{"annotations": object{"touched": round}}})
		}
		env.Eventually(o, func(context.Context) error {
			missing := map[string]bool{}
			for name := range o.desired {
				missing[name] = true
			}
			for _, call := range o.Hook.Calls()[before:] {
				var asked request
				if err := call.Decode(&asked); err != nil {
					return err
				}
				if asked.Parent.GetAnnotations()["touched"] == round && complete(asked) {
					delete(missing, asked.Parent.GetName())
				}
			}
			if len(missing) > 0 {
				return fmt.Errorf("not yet synced, or not with their children: %v", missing)
			}
			return nil
		})
	}
}

// expectNoChildWrites checks that no child was written since a position.
func (o *singleChildren) expectNoChildWrites(when string, from hostcluster.Position) {
	o.Helper()
	for _, child := range o.types {
		events := env.AuditEvents(o, from, hostcluster.Request{
			Verbs: hostcluster.Writes(), Group: child.Group, Resource: child.Resource, Namespace: o.Namespace,
		})
		for _, event := range events {
			o.Errorf("with %s, %s there should be no write of a child, but there was: %s %s", o.method, when, event.Verb, event.RequestURI)
		}
	}
}

func anyRequest(request) bool { return true }
