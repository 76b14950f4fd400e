// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// TestTypesThatConferRights names, for each such type, what an author needs beside the rights to a type
// that confers none: as children, as targets of a DecoratorController, and as parents.
func TestTypesThatConferRights(t *testing.T) {
	for of, test := range map[string]struct{ children, targets, parents []string }{
		"deployments.v1.apps": {},
		"roles.v1.rbac.authorization.k8s.io": {
			children: []string{"escalate roles.rbac.authorization.k8s.io"},
			targets:  []string{"escalate roles.rbac.authorization.k8s.io"},
		},
		"clusterroles.v1.rbac.authorization.k8s.io": {
			children: []string{"escalate clusterroles.rbac.authorization.k8s.io"},
			targets:  []string{"escalate clusterroles.rbac.authorization.k8s.io"},
		},
		"rolebindings.v1.rbac.authorization.k8s.io": {
			children: []string{"bind roles.rbac.authorization.k8s.io", "bind clusterroles.rbac.authorization.k8s.io"},
			targets:  []string{"bind roles.rbac.authorization.k8s.io", "bind clusterroles.rbac.authorization.k8s.io"},
		},
		"clusterrolebindings.v1.rbac.authorization.k8s.io": {
			children: []string{"bind clusterroles.rbac.authorization.k8s.io"},
			targets:  []string{"bind clusterroles.rbac.authorization.k8s.io"},
		},
		"compositecontrollers.v1alpha1.metacontroller.k8s.io": {
			children: []string{"escalate compositecontrollers.metacontroller.k8s.io"},
			targets:  []string{"escalate compositecontrollers.metacontroller.k8s.io"},
		},
		"decoratorcontrollers.v1alpha1.metacontroller.k8s.io": {
			children: []string{"escalate decoratorcontrollers.metacontroller.k8s.io"},
			targets:  []string{"escalate decoratorcontrollers.metacontroller.k8s.io"},
		},
		"controllerrevisions.v1alpha1.metacontroller.k8s.io": {
			children: []string{"restore controllerrevisions.metacontroller.k8s.io"},
			targets:  []string{"restore controllerrevisions.metacontroller.k8s.io"},
		},
		"certificatesigningrequests.v1.certificates.k8s.io": {
			children: []string{"update certificatesigningrequests.certificates.k8s.io/approval", "approve signers.certificates.k8s.io"},
			targets:  []string{"sign signers.certificates.k8s.io"},
			parents:  []string{"sign signers.certificates.k8s.io"},
		},
		"podcertificaterequests.v1beta1.certificates.k8s.io": {
			targets: []string{"sign signers.certificates.k8s.io"},
			parents: []string{"sign signers.certificates.k8s.io"},
		},
		"clustertrustbundles.v1beta1.certificates.k8s.io": {
			children: []string{"attest signers.certificates.k8s.io"},
			targets:  []string{"attest signers.certificates.k8s.io"},
		},
		"validatingadmissionpolicies.v1.admissionregistration.k8s.io":       {children: []string{"get *.*"}},
		"mutatingadmissionpolicies.v1.admissionregistration.k8s.io":         {children: []string{"get *.*"}},
		"validatingadmissionpolicybindings.v1.admissionregistration.k8s.io": {children: []string{"get *.*", "list *.*"}},
		"mutatingadmissionpolicybindings.v1.admissionregistration.k8s.io":   {children: []string{"get *.*", "list *.*"}},
		"resourceclaims.v1.resource.k8s.io": {
			targets: []string{"update resourceclaims.resource.k8s.io/binding", "arbitrary-node:update resourceclaims.resource.k8s.io/driver"},
			parents: []string{"update resourceclaims.resource.k8s.io/binding", "arbitrary-node:update resourceclaims.resource.k8s.io/driver"},
		},
	} {
		t.Run(of, func(t *testing.T) {
			resource, _ := schema.ParseResourceArg(of)
			rule := v1alpha1.ResourceRule{APIVersion: resource.GroupVersion().String(), Resource: resource.Resource}
			for role, test := range map[string]struct {
				controller runtime.Object
				path       string
				want       []string
			}{
				"children": {
					composed(func(spec *v1alpha1.CompositeControllerSpec) { spec.ChildResources[0].ResourceRule = rule }),
					"spec.childResources[0]", test.children,
				},
				"targets": {
					&v1alpha1.DecoratorController{Spec: v1alpha1.DecoratorControllerSpec{
						Resources: []v1alpha1.DecoratorControllerResourceRule{{ResourceRule: rule}},
					}},
					"spec.resources[0]", test.targets,
				},
				"parents": {
					composed(func(spec *v1alpha1.CompositeControllerSpec) { spec.ParentResource.ResourceRule = rule }),
					"spec.parentResource", test.parents,
				},
			} {
				if diff := cmp.Diff(test.want, beside(controllerOf(test.controller).requiredRights(nil), test.path, resource.GroupResource())); diff != "" {
					t.Errorf("as %s, they need (-want +got):\n%s", role, diff)
				}
			}
		})
	}
}

// beside returns the rights that a field requires beside those to read and write objects of a type.
func beside(required []rights.Required, path string, of schema.GroupResource) (more []string) {
	ordinary := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	for _, req := range required {
		isOrdinary := req.GroupResource == of && slices.Contains(ordinary, req.Verb) && (req.Subresource == "" || req.Subresource == "status")
		if req.For != path || isOrdinary {
			continue
		}
		text := req.Verb + " " + req.String()
		if req.Subresource != "" {
			text += "/" + req.Subresource
		}
		more = append(more, text)
	}
	return more
}
