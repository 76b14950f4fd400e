// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// change is one of a spec, made before its controller is created.
type change = func(*v1alpha1.CompositeControllerSpec)

// engines are the ways of applying children.
var engines = []v1alpha1.ChildApplyStrategy{v1alpha1.ChildApplyDynamic, v1alpha1.ChildApplyServerSide}

// underBothEngines runs a test once with each way of applying children: what it tells
// holds in either.
func underBothEngines(t *testing.T, test func(*testing.T, change)) {
	t.Helper()
	t.Parallel()
	for _, engine := range engines {
		t.Run(string(engine), func(t *testing.T) { test(t, applied(engine)) })
	}
}

// applied has the children of all types applied in one way. It comes after changes of
// the child types.
func applied(engine v1alpha1.ChildApplyStrategy) change {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		for i := range spec.ChildResources {
			strategy := ptr.Deref(spec.ChildResources[i].UpdateStrategy, v1alpha1.CompositeControllerChildUpdateStrategy{})
			strategy.Apply = engine
			spec.ChildResources[i].UpdateStrategy = &strategy
		}
	}
}
