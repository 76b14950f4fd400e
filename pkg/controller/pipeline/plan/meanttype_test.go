// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestWhichDeclaredTypeIsMeant(t *testing.T) {
	var declared []pipeline.Group
	for _, of := range []schema.GroupVersionKind{
		{Group: "", Version: "v1", Kind: "Service"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "example.com", Version: "v1", Kind: "Ingress"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	} {
		declared = append(declared, pipeline.Group{Type: object.Type{GroupVersionResource: of.GroupVersion().WithResource("any"), Kind: of.Kind}})
	}
	for name, test := range map[string]struct{ apiVersion, kind, want string }{
		"a kind in lower case":                      {"apps/v1", "deployment", "apps/v1 Deployment"},
		"the plural":                                {"apps/v1", "Deployments", "apps/v1 Deployment"},
		"a group that there is no longer":           {"extensions/v1beta1", "Deployment", "apps/v1 Deployment"},
		"no group":                                  {"v1", "Deployment", "apps/v1 Deployment"},
		"a group of two that have the kind":         {"networking.k8s.io/v1beta1", "Ingress", "networking.k8s.io/v1 Ingress"},
		"another group than two that have the kind": {"extensions/v1beta1", "Ingress", "example.com/v1 Ingress"},
		"a kind that is not near":                   {"v1", "Secret", ""},
		"a longer kind":                             {"v1", "ServiceAccount", ""},
		"no kind":                                   {"v1", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			child := &object.Object{TypeMeta: metav1.TypeMeta{APIVersion: test.apiVersion, Kind: test.kind}}
			got := ""
			if meant := meantType(child, declared); meant != nil {
				got = meant.GroupVersion().String() + " " + meant.Kind
			}
			if got != test.want {
				t.Errorf("%q is meant, want %q", got, test.want)
			}
		})
	}
}
