// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// previewer is that of a controller whose parents and children are ConfigMaps.
func previewer() *Previewer {
	configMaps := []object.Type{{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Kind:                 "ConfigMap", Namespaced: true,
	}}
	return &Previewer{
		Planner: &planner.Planner{Observer: observe.Observer{Claims: observe.NewLabelClaims(false)}},
		Parents: configMaps, Children: configMaps,
	}
}

func TestAGivenAnswerNamesABoundedNumberOfTypes(t *testing.T) {
	r := previewer().newRun(Options{}, true)
	r.isChosen.Store(true)
	var reads []rights.Required
	for i := range maxChosenTypes + 1 {
		of := rights.Object{GroupResource: schema.GroupResource{Group: "many.example", Resource: fmt.Sprint("type", i)}}
		reads = append(reads, rights.Required{Right: rights.Right{Object: of, Verb: "list"}})
	}
	const want = "customize hook: the answer names 65 types, but the maximum in a review of a given object " +
		"or answer is 64"
	if err := r.permitRelated(t.Context(), reads); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestTheChildrenOfAClusterScopedParentMayBeAnywhere(t *testing.T) {
	if all := previewer().toSelectChildren(&object.Object{}); len(all) != 1 || all[0].Namespace != "" {
		t.Errorf("to select its children, %v is needed", all)
	}
}

func TestParentsMayBeInTheNamespacesOfTheController(t *testing.T) {
	p := previewer()
	if all := p.Reach(""); len(all) != 1 || all[0].Namespace != "" {
		t.Errorf("parents may be in %v", all)
	}
	p.Namespaces = object.NewNamespaces([]string{"a", "b"})
	if within := p.Reach(""); len(within) != 2 || within[0].Namespace != "a" || within[1].Namespace != "b" {
		t.Errorf("with spec.namespaces, parents may be in %v", within)
	}
}
