// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestValidateAccess(t *testing.T) {
	for name, test := range map[string]struct {
		patch string
		want  []string
	}{
		"an account, namespaces and related types": {
			patch: "spec: {serviceAccount: {namespace: shop, name: web.sites}, namespaces: [shop, shop-test], relatedResources: [{apiVersion: v1, resource: nodes}]}",
		},
		"an account without a name": {
			patch: "spec: {serviceAccount: {}}",
			want: []string{
				`spec.serviceAccount.namespace: Required value: must be the namespace of the ServiceAccount`,
				`spec.serviceAccount.name: Required value: must be the name of the ServiceAccount`,
			},
		},
		"an account that cannot exist": {
			patch: "spec: {serviceAccount: {namespace: a.b, name: 'system:admin'}}",
			want: []string{
				`spec.serviceAccount.namespace: Invalid value: "a.b": must be the name of a namespace: lower-case letters, digits and "-"`,
				`spec.serviceAccount.name: Invalid value: "system:admin": must be the name of a ServiceAccount: lower-case letters, digits, "-" and "."`,
			},
		},
		"namespaces that cannot exist, or are named twice": {
			patch: "spec: {namespaces: ['', Shop, shop, shop]}",
			want: []string{
				`spec.namespaces[0]: Required value: must be the name of a namespace`,
				`spec.namespaces[1]: Invalid value: "Shop": must be the name of a namespace: lower-case letters, digits and "-"`,
				`spec.namespaces[3]: Duplicate value: "shop"`,
			},
		},
		"a related type that cannot exist": {
			patch: "spec: {relatedResources: [{apiVersion: v1, resource: Nodes}]}",
			want:  []string{`spec.relatedResources[0].resource: Invalid value: "Nodes": must be the plural, lower-case name of the resource, such as "deployments"`},
		},
	} {
		t.Run("composite: "+name, func(t *testing.T) {
			controller := decode[*v1alpha1.CompositeController](t, patched(t, compositeController, test.patch))
			wantErrors(t, ValidateCompositeController(controller), test.want...)
		})
		t.Run("decorator: "+name, func(t *testing.T) {
			controller := decode[*v1alpha1.DecoratorController](t, patched(t, decoratorController, test.patch))
			wantErrors(t, ValidateDecoratorController(controller), test.want...)
		})
	}
}
