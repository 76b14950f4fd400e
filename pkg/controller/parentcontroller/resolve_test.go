// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hosttest"
)

func TestQ33TheShortestResyncPeriodIsASecond(t *testing.T) {
	for want, seconds := range map[time.Duration]*int32{
		time.Second:    ptr.To[int32](0),
		24 * time.Hour: ptr.To[int32](86400),
		0:              nil,
	} {
		var spec Spec
		spec.resolveResync(seconds)
		if spec.Resync != want {
			t.Errorf("%v seconds give a period of %s, want %s", seconds, spec.Resync, want)
		}
	}
}

func TestAControllerThatIsLimitedToNamespacesHasOnlyNamespacedTypes(t *testing.T) {
	nodes := object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Kind: "Node"}
	related := func(apiVersion, resource string) []v1alpha1.ResourceRule {
		return []v1alpha1.ResourceRule{{APIVersion: apiVersion, Resource: resource}}
	}
	const refused = "spec.namespaces limits the controller to objects in namespaces, and Node.v1 is cluster-scoped: remove spec.namespaces, or this type from the spec"
	for name, test := range map[string]struct {
		parents, children object.Type
		related           []v1alpha1.ResourceRule
		namespaces        []string
		err               string
	}{
		"all types are namespaced":             {parents: webs, children: pods, namespaces: []string{"shop"}},
		"the parents are cluster-scoped":       {parents: nodes, children: pods, namespaces: []string{"shop"}, err: refused},
		"a type of children is cluster-scoped": {parents: webs, children: nodes, namespaces: []string{"shop"}, err: refused},
		"a related type is cluster-scoped": {
			parents: webs, children: pods, related: related("v1", "namespaces"), namespaces: []string{"shop"}, err: strings.Replace(refused, "Node", "Namespace", 1),
		},
		"a related type is namespaced":                                   {parents: webs, children: pods, related: related("v1", "pods"), namespaces: []string{"shop"}},
		"a related type is not there yet":                                {parents: webs, children: pods, related: related("ctl.example/v1", "unknown"), namespaces: []string{"shop"}},
		"a related type of no limit":                                     {parents: webs, children: pods, related: related("v1", "namespaces")},
		"there is no limit, and the types are cluster-scoped themselves": {parents: nodes, children: nodes},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &Spec{Targets: []Target{{Type: test.parents}}, Children: []object.Type{test.children}}
			err := spec.resolveAccess(t.Context(), hosttest.Discovery(t), &v1alpha1.Access{Namespaces: test.namespaces, RelatedResources: test.related})
			switch {
			case test.err == "" && err != nil, test.err != "" && (err == nil || err.Error() != test.err):
				t.Errorf("the error is %v, want %q", err, test.err)
			case spec.Namespaces.Has("other") == (test.namespaces != nil):
				t.Errorf("it is limited to %q", spec.Namespaces.Names())
			}
		})
	}
}

// A tenant may list a thousand types that are not there.
func TestTypesThatAreNotServedNeedNoRights(t *testing.T) {
	rules := []v1alpha1.ResourceRule{
		{APIVersion: "ctl.example/v1", Resource: "unknown"}, {APIVersion: "v1", Resource: "pods"},
	}
	spec := &Spec{Targets: []Target{{Type: webs}}, Kind: Kind{ChildrenField: "children"}}
	err := spec.resolveAccess(t.Context(), hosttest.Discovery(t), &v1alpha1.Access{
		ServiceAccount: &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}, RelatedResources: rules,
	})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, one := range spec.Reads() {
		types = append(types, one.Verb+" "+one.Resource)
	}
	if want := []string{"list webs", "watch webs", "list pods", "watch pods"}; !slices.Equal(types, want) {
		t.Errorf("the rights are %q, want %q", types, want)
	}
}

func TestTheAccountOfAController(t *testing.T) {
	for name, test := range map[string]struct {
		access v1alpha1.Access
		want   host.Account
	}{
		"without one, the server's own": {},
		"with one": {
			access: v1alpha1.Access{ServiceAccount: &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}},
			want:   host.Account{Namespace: "shop", Name: "websites"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AccountOf(&test.access); got != test.want {
				t.Errorf("it is %+v, want %+v", got, test.want)
			}
		})
	}
}
