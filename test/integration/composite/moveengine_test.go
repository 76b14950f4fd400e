// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

const recordAnnotation = "metacontroller.k8s.io/last-applied-configuration"

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	services    = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// specimens are children with many kinds of fields: what a hook answers at first and later, what
// others add, and what is left at the end.
var specimens = map[schema.GroupVersionResource]struct{ first, later, others, left string }{
	configMaps: {
		first:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: it, labels: {kept: "1", dropped: "1"}}, data: {kept: "1", dropped: "1"}}`,
		later:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: it, labels: {kept: "1"}}, data: {kept: "1"}}`,
		others: `{apiVersion: v1, kind: ConfigMap, metadata: {name: it, labels: {theirs: "1"}}, data: {theirs: "1"}}`,
		left:   `{metadata: {labels: {kept: "1", theirs: "1"}}, data: {kept: "1", theirs: "1"}}`,
	},
	services: {
		first:  `{apiVersion: v1, kind: Service, metadata: {name: it}, spec: {selector: {app: it}, ports: [{name: tcp, port: 53}, {name: udp, port: 53, protocol: UDP}]}}`,
		later:  `{apiVersion: v1, kind: Service, metadata: {name: it}, spec: {selector: {app: it}, ports: [{name: udp, port: 53, protocol: UDP}]}}`,
		others: `{apiVersion: v1, kind: Service, metadata: {name: it, annotations: {theirs: "1"}}, spec: {ports: [{name: theirs, port: 99, protocol: TCP}], publishNotReadyAddresses: true}}`,
		left: `{metadata: {annotations: {theirs: "1"}}, spec: {selector: {app: it}, publishNotReadyAddresses: true, type: ClusterIP,
			ports: [{name: udp, port: 53, targetPort: 53, protocol: UDP}, {name: theirs, port: 99, targetPort: 99, protocol: TCP}]}}`,
	},
	deployments: {
		first: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: it}, spec: {selector: {matchLabels: {app: it}}, replicas: 0, template: {metadata: {labels: {app: it}}, spec: {
			containers: [{name: app, image: app:v1, args: [a, b], env: [{name: A, value: "1"}, {name: B, value: "1"}], ports: [{containerPort: 80}], resources: {limits: {cpu: 500m}}}, {name: extra, image: extra:v1}],
			volumes: [{name: scratch, emptyDir: {}}]}}}}`,
		later: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: it}, spec: {selector: {matchLabels: {app: it}}, replicas: 0, template: {metadata: {labels: {app: it}}, spec: {
			containers: [{name: app, image: app:v1, env: [{name: A, value: "1"}], ports: [{containerPort: 80}]}]}}}}`,
		others: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: it}, spec: {minReadySeconds: 5, template: {spec: {containers: [{name: sidecar, image: sidecar:v1}]}}}}`,
		left: `{spec: {minReadySeconds: 5, replicas: 0, template: {spec: {containers: [
			{name: app, image: app:v1, args: null, env: [{name: A, value: "1"}], ports: [{containerPort: 80, protocol: TCP}], resources: {limits: null}}, {name: sidecar, image: sidecar:v1}], volumes: null}}}}`,
	},
}

// wantedChildren answers the children that the parent's spec lists.
func wantedChildren(asked request) object {
	return object{"children": asked.Parent.Object["spec"].(object)["children"]}
}

// withSpecimens has the types of the specimens as child types.
func withSpecimens(method v1alpha1.ChildUpdateMethod) change {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = nil
		for of := range specimens {
			spec.ChildResources = append(spec.ChildResources, harness.ChildRule(of.GroupVersion().String(), of.Resource, method))
		}
	}
}

// specimensOf returns the spec of a parent with one version of all specimens as children.
func specimensOf(t testing.TB, version func(schema.GroupVersionResource) string) object {
	children := []any{}
	for of := range specimens {
		children = append(children, harness.FromYAML(t, version(of)))
	}
	return object{"children": children}
}

func first(of schema.GroupVersionResource) string { return specimens[of].first }
func later(of schema.GroupVersionResource) string { return specimens[of].later }

// child reads the child named it of a type.
func (f *fixture) child(ctx context.Context, of schema.GroupVersionResource) (*unstructured.Unstructured, error) {
	return env.Dynamic.Resource(of).Namespace(f.Namespace).Get(ctx, "it", metav1.GetOptions{})
}

// waitForChild waits until check accepts a child, and returns it.
func (f *fixture) waitForChild(of schema.GroupVersionResource, check func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	f.Helper()
	var found *unstructured.Unstructured
	env.Eventually(f, func(ctx context.Context) (err error) {
		if found, err = f.child(ctx, of); err != nil {
			return err
		}
		return check(found)
	})
	return found
}

func exists(*unstructured.Unstructured) error { return nil }

// isManaged returns a check that a child is written by one engine and has no trace of the other.
func isManaged(engine v1alpha1.ChildApplyStrategy) func(*unstructured.Unstructured) error {
	return func(child *unstructured.Unstructured) error {
		_, recorded := child.GetAnnotations()[recordAnnotation]
		owned := false
		for _, entry := range child.GetManagedFields() {
			owned = owned || entry.Manager == "metacontroller" && entry.Operation == metav1.ManagedFieldsOperationApply
		}
		if dynamic := engine == v1alpha1.ChildApplyDynamic; recorded != dynamic || owned == dynamic {
			return fmt.Errorf("%s %s should be written by %s, but: record %v, owned as applied %v", child.GetKind(), child.GetName(), engine, recorded, owned)
		}
		return nil
	}
}

// contains returns a check that a child has these fields. A null stands for a field that must be
// absent. Lists are compared as a whole.
func contains(want object) func(*unstructured.Unstructured) error {
	return func(child *unstructured.Unstructured) error { return lacks(want, child.Object, child.GetKind()) }
}

func lacks(want, have any, at string) error {
	switch want := want.(type) {
	case object:
		have, _ := have.(object)
		for name, value := range want {
			if err := lacks(value, have[name], at+"."+name); err != nil {
				return err
			}
		}
		return nil
	case []any:
		have, _ := have.([]any)
		if len(want) != len(have) {
			return fmt.Errorf("%s should be %v, but is %v", at, want, have)
		}
		for i := range want {
			if err := lacks(want[i], have[i], fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if fmt.Sprint(want) != fmt.Sprint(have) {
		return fmt.Errorf("%s should be %v, but is %v", at, want, have)
	}
	return nil
}

// Moving children from one engine to the other takes one write each. Fields of others stay, and
// fields that the hook drops later are removed.
func TestQ7MovingBetweenEngines(t *testing.T) {
	t.Parallel()
	moves := []struct{ from, to v1alpha1.ChildApplyStrategy }{
		{v1alpha1.ChildApplyDynamic, v1alpha1.ChildApplyServerSide},
		{v1alpha1.ChildApplyServerSide, v1alpha1.ChildApplyDynamic},
	}
	for _, move := range moves {
		t.Run("from "+string(move.from)+" to "+string(move.to), func(t *testing.T) {
			t.Parallel()
			f := start(t, answers(t, wantedChildren), withSpecimens(v1alpha1.ChildUpdateInPlace), applied(move.from))
			f.CreateParent("a", specimensOf(t, first))
			before := map[schema.GroupVersionResource]types.UID{}
			for of, specimen := range specimens {
				f.waitForChild(of, isManaged(move.from))
				child := f.addTheirs(of, specimen.others)
				before[of] = child.GetUID()
				f.waitUntilChildrenAreSent(*child) // a write that is based on an older version would be refused and repeated
			}
			f.Settle("a")
			from := env.AuditEnd(f)
			f.applyBy(move.to)
			for of := range specimens {
				f.waitForChild(of, isManaged(move.to))
			}
			f.Settle("a")
			for of := range specimens {
				if writes := f.RequestLines(from, writesOf(of)); len(writes) != 1 {
					t.Errorf("moving should take one write of %s, but took %v", of.Resource, writes)
				}
			}

			f.PatchParent("a", object{"spec": specimensOf(t, later)})
			for of, specimen := range specimens {
				child := f.waitForChild(of, contains(harness.FromYAML(t, specimen.left)))
				if child.GetUID() != before[of] {
					t.Errorf("the %s was replaced", child.GetKind())
				}
				if err := isManaged(move.to)(child); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A field that the hook drops at the time of the move is removed too.
func TestQ7MovingWhileTheHookDropsSomething(t *testing.T) {
	t.Parallel()
	for _, to := range []v1alpha1.ChildApplyStrategy{v1alpha1.ChildApplyDynamic, v1alpha1.ChildApplyServerSide} {
		t.Run("to "+string(to), func(t *testing.T) {
			t.Parallel()
			from := v1alpha1.ChildApplyDynamic
			if to == from {
				from = v1alpha1.ChildApplyServerSide
			}
			f := start(t, answers(t, wantedChildren), withSpecimens(v1alpha1.ChildUpdateInPlace), applied(from))
			f.CreateParent("a", specimensOf(t, first))
			for of, specimen := range specimens {
				f.waitForChild(of, isManaged(from))
				f.addTheirs(of, specimen.others)
			}
			f.Hook.Handle(answers(t, func(request) object { return specimensOf(t, later) }))
			f.applyBy(to)
			for of, specimen := range specimens {
				f.waitForChild(of, contains(harness.FromYAML(t, specimen.left)))
			}
		})
	}
}

func TestQ7ChildrenUnderOnDeleteAreNotTouchedByAMove(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, wantedChildren), withSpecimens(v1alpha1.ChildUpdateOnDelete), applied(v1alpha1.ChildApplyDynamic))
	f.CreateParent("a", specimensOf(t, first))
	for of := range specimens {
		f.waitForChild(of, isManaged(v1alpha1.ChildApplyDynamic))
	}
	f.Settle("a")
	from := env.AuditEnd(f)
	f.applyBy(v1alpha1.ChildApplyServerSide)
	f.Settle("a")
	for of := range specimens {
		if writes := f.RequestLines(from, writesOf(of)); len(writes) > 0 {
			t.Errorf("%s should be left alone, but there was %v", of.Resource, writes)
		}
	}
}

// addTheirs adds fields to a child as another client, and returns the child.
func (f *fixture) addTheirs(of schema.GroupVersionResource, theirs string) *unstructured.Unstructured {
	f.Helper()
	child, err := env.Dynamic.Resource(of).Namespace(f.Namespace).
		Apply(f.Context(), "it", &unstructured.Unstructured{Object: harness.FromYAML(f, theirs)}, metav1.ApplyOptions{FieldManager: "somebody"})
	if err != nil {
		f.Fatal(err)
	}
	return child
}

// applyBy changes the engine for all types of children, and waits until the controller with that
// spec has started.
func (f *fixture) applyBy(engine v1alpha1.ChildApplyStrategy) {
	f.Helper()
	controllers := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	controller, err := controllers.Get(f.Context(), f.Controller.Name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	rules := controller.Spec.ChildResources
	applied(engine)(&controller.Spec)
	f.PatchController(object{"spec": object{"childResources": rules}})
	env.Eventually(f, func(context.Context) error {
		calls := f.Hook.Calls()
		if len(calls) == 0 || !strings.Contains(string(calls[len(calls)-1].Body), `"apply":"`+string(engine)+`"`) {
			return fmt.Errorf("the controller that applies by %s has not called its hook yet", engine)
		}
		return nil
	})
}

// writesOf selects the server's writes of a type. Dry runs do not count.
func writesOf(of schema.GroupVersionResource) hostcluster.Request {
	return hostcluster.Request{Verbs: hostcluster.Writes(), Group: of.Group, Resource: of.Resource}
}
