// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

type (
	object  = harness.Object
	request = hook.CompositeRequest
	change  = harness.CompositeChange
)

// fixture is the fixture of a CompositeController.
type fixture struct{ harness.Fixture }

// start runs a controller with ConfigMap children, updated in place, and a generated selector.
// Changes of the spec are made before it is created.
func start(t *testing.T, handler hook.Handler, changes ...change) *fixture {
	t.Helper()
	f := prepare(t, hook.Serve(t, handler))
	f.RunComposite(f.CompositeSpec(changes...))
	return f
}

// prepare returns a fixture without a controller.
func prepare(t *testing.T, server *hook.Server) *fixture {
	t.Helper()
	return &fixture{harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, server)}
}

// in returns the fixture for a subtest.
func (f *fixture) in(t *testing.T) *fixture {
	inner := *f
	inner.T = t
	return &inner
}

// answers makes a hook out of a function from request to answer.
func answers(t testing.TB, answer func(request) object) hook.Handler {
	return hook.Answering(t, answer)
}

// oneConfigMap answers one ConfigMap named like the parent that holds its spec.value.
func oneConfigMap(asked request) object {
	value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
	return object{
		"status":   object{"children": len(asked.Children["ConfigMap.v1"])},
		"children": []object{hook.ConfigMap(asked.Parent.GetName(), object{"value": value})},
	}
}

// underBothEngines runs a test once with each engine.
func underBothEngines(t *testing.T, test func(*testing.T, change)) {
	t.Helper()
	t.Parallel()
	for _, engine := range harness.Engines() {
		t.Run(string(engine), func(t *testing.T) { test(t, applied(engine)) })
	}
}

// applied sets the engine of all types of children. It must come after changes of the types.
func applied(engine v1alpha1.ChildApplyStrategy) change {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		for i := range spec.ChildResources {
			strategy := ptr.Deref(spec.ChildResources[i].UpdateStrategy, v1alpha1.CompositeControllerChildUpdateStrategy{})
			strategy.Apply = &engine
			spec.ChildResources[i].UpdateStrategy = &strategy
		}
	}
}

// waitUntilChildrenAreSent waits until a request had all of these children in these or later
// versions. The controller has observed them then. Each type has its own watch, so a later change
// of the parent does not show that.
func (f *fixture) waitUntilChildrenAreSent(children ...unstructured.Unstructured) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		var missing []string
		for _, call := range slices.Backward(f.Hook.Calls()) {
			var asked request
			if err := call.Decode(&asked); err != nil {
				return err
			}
			if missing = missingFrom(&asked, children); len(missing) == 0 {
				return nil
			}
		}
		return fmt.Errorf("no call of the hook has shown %q as they are", missing)
	})
}

// missingFrom returns the names of the children that a request does not have, or only in older
// versions.
func missingFrom(asked *request, children []unstructured.Unstructured) (missing []string) {
	shown := map[types.UID]string{}
	for _, group := range asked.Children {
		for _, content := range group {
			child := unstructured.Unstructured{Object: content}
			shown[child.GetUID()] = child.GetResourceVersion()
		}
	}
	for _, child := range children {
		order, err := resourceversion.CompareResourceVersion(shown[child.GetUID()], child.GetResourceVersion())
		if err != nil || order < 0 { // an error if it is not shown at all
			missing = append(missing, child.GetName())
		}
	}
	return missing
}
