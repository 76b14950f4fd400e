// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// read shows needs in few lines: "<path>: <verbs> <resource>".
func read(needs []rights.Required) []string {
	var lines []string
	for _, need := range needs {
		of := need.String()
		if need.Subresource != "" {
			of += "/" + need.Subresource
		}
		if need.Namespace != "" {
			of += " " + need.Namespace + "/" + need.Name
		}
		prefix, suffix := need.For+": ", " "+of
		if last := len(lines) - 1; last >= 0 && strings.HasPrefix(lines[last], prefix) && strings.HasSuffix(lines[last], suffix) {
			lines[last] = strings.TrimSuffix(lines[last], suffix) + "," + need.Verb + suffix
			continue
		}
		lines = append(lines, prefix+need.Verb+suffix)
	}
	return lines
}

const (
	readParents = "spec.parentResource: get,list,watch pages.example.com"
	readTargets = "spec.resources[0]: get,list,watch,update pages.example.com"
	writeStatus = "spec.parentResource: update pages.example.com/status"
	writePods   = "spec.childResources[0]: get,list,watch,create,update,patch,delete pods"
)

func TestNeeds(t *testing.T) {
	secret := func(name string) v1alpha1.SecretRef {
		return v1alpha1.SecretRef{Namespace: "keys", Name: name}
	}
	for name, test := range map[string]struct {
		of   runtime.Object
		want []string
	}{
		"a composite controller": {composed(), []string{readParents, writeStatus, writePods}},
		"with objects whose changes have all parents synced": {
			composed(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ResyncOn = []v1alpha1.WatchedObject{
					{ResourceRule: v1alpha1.ResourceRule{APIVersion: "apps/v1", Resource: "deployments"},
						Namespace: new("hooks"), Name: "my-hook"},
				}
			}),
			[]string{readParents, writeStatus, writePods, "spec.resyncOn[0]: get,list,watch deployments.apps hooks/my-hook"},
		},
		"with a finalize hook": {
			composed(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.Hooks.Finalize = hookAt("http://hooks.default/finalize")
			}),
			[]string{"spec.parentResource: get,list,watch,update pages.example.com", writeStatus, writePods},
		},
		"without hooks": {
			composed(func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks = nil }),
			[]string{readParents, writeStatus, writePods},
		},
		"what names no type, as it was stored once": {
			composed(child("a/b/c", "pods"), child("", "pods"), child("v1", "")),
			[]string{readParents, writeStatus, writePods},
		},
		"what connections to hooks are made with": {
			composed(func(spec *v1alpha1.CompositeControllerSpec) {
				webhook := spec.Hooks.Sync.Webhook
				webhook.CABundle = &v1alpha1.CABundle{ConfigMapRef: &v1alpha1.ResourceKeyRef{Namespace: "keys", Name: "ca"}}
				webhook.ClientTLS = &v1alpha1.ClientTLS{SecretRef: secret("tls")}
				webhook.Authorization = &v1alpha1.Authorization{SecretRef: v1alpha1.SecretKeyRef{Namespace: "keys", Name: "token"}}
				spec.EndpointConfigs = []v1alpha1.EndpointConfig{{
					Host: "hooks.default", BasicAuth: &v1alpha1.BasicAuth{SecretRef: secret("password")},
					CABundle: &v1alpha1.CABundle{SecretRef: &v1alpha1.ResourceKeyRef{Namespace: "keys", Name: "bundle"}},
				}}
				spec.Hooks.PreUpdateChild = hookAt("http://hooks.default/never")
				spec.Hooks.PreUpdateChild.Webhook.ClientTLS = &v1alpha1.ClientTLS{SecretRef: secret("")}
			}),
			[]string{
				readParents, writeStatus, writePods,
				"spec.hooks.sync.webhook.caBundle.configMapRef: get configmaps keys/ca",
				"spec.hooks.sync.webhook.clientTLS.secretRef: get secrets keys/tls",
				"spec.hooks.sync.webhook.authorization.secretRef: get secrets keys/token",
				"spec.endpointConfigs[0].caBundle.secretRef: get secrets keys/bundle",
				"spec.endpointConfigs[0].basicAuth.secretRef: get secrets keys/password",
			},
		},
		"a decorator controller": {decorated("pages"), []string{readTargets, "spec.resources[0]: update pages.example.com/status"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, read(controllerOf(test.of).requiredRights(nil))); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
	if controllerOf(&v1alpha1.ControllerRevision{}) != nil {
		t.Error("a ControllerRevision is taken for a controller")
	}
}

// asking is a controller with a customize hook, which may ask for what the types are.
func asking(types ...v1alpha1.ResourceRule) func(*v1alpha1.CompositeControllerSpec) {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Customize = hookAt("http://hooks.default/customize")
		spec.RelatedResources = types
	}
}

// within limits a controller to namespaces.
func within(namespaces ...string) func(*v1alpha1.CompositeControllerSpec) {
	return func(spec *v1alpha1.CompositeControllerSpec) { spec.Namespaces = namespaces }
}

func TestWhereRightsAreNeeded(t *testing.T) {
	known := map[schema.GroupVersionResource]typeInfo{
		{Version: "v1", Resource: "pods"}:  {served: true, namespaced: true},
		{Version: "v1", Resource: "nodes"}: {served: true},
	}
	nodes := v1alpha1.ResourceRule{APIVersion: "v1", Resource: "nodes"}
	pods := v1alpha1.ResourceRule{APIVersion: "v1", Resource: "pods"}
	withSecret := func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Sync.Webhook.BasicAuth = &v1alpha1.BasicAuth{SecretRef: v1alpha1.SecretRef{Namespace: "keys", Name: "password"}}
	}
	childless := func(spec *v1alpha1.CompositeControllerSpec) { spec.ChildResources = nil }
	for name, test := range map[string]struct {
		of   *v1alpha1.CompositeController
		want []string
	}{
		"a service account makes up for all rights but that to impersonate it": {
			composed(actingAs, asking(), within("a", "b"), withSecret), []string{"spec.serviceAccount: impersonate serviceaccounts shop/websites"},
		},
		"in the namespaces of the controller, and of what its connections need": {
			composed(within("a", "b"), withSecret), []string{
				"spec.parentResource: get,list,watch pages.example.com a/", "spec.parentResource: get,list,watch pages.example.com b/",
				"spec.parentResource: update pages.example.com/status a/", "spec.parentResource: update pages.example.com/status b/",
				"spec.childResources[0]: get,list,watch,create,update,patch,delete pods a/", "spec.childResources[0]: get,list,watch,create,update,patch,delete pods b/",
				"spec.hooks.sync.webhook.basicAuth.secretRef: get secrets keys/password",
			},
		},
		"in the whole cluster for what is in no namespace": {
			composed(childless, within("a"), child("v1", "nodes")), []string{
				"spec.parentResource: get,list,watch pages.example.com a/", "spec.parentResource: update pages.example.com/status a/",
				"spec.childResources[0]: get,list,watch,create,update,patch,delete nodes",
			},
		},
		"roles confer rights in their namespace": {
			composed(childless, within("a"), child("rbac.authorization.k8s.io/v1", "rolebindings")), []string{
				"spec.parentResource: get,list,watch pages.example.com a/", "spec.parentResource: update pages.example.com/status a/",
				"spec.childResources[0]: get,list,watch,create,update,patch,delete rolebindings.rbac.authorization.k8s.io a/",
				"spec.childResources[0]: bind roles.rbac.authorization.k8s.io a/", "spec.childResources[0]: bind clusterroles.rbac.authorization.k8s.io a/",
			},
		},
		"claims confer some rights everywhere": {
			composed(childless, within("a"), func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ParentResource.ResourceRule = v1alpha1.ResourceRule{APIVersion: "resource.k8s.io/v1", Resource: "resourceclaims"}
			}), []string{
				"spec.parentResource: get,list,watch resourceclaims.resource.k8s.io a/", "spec.parentResource: update resourceclaims.resource.k8s.io/status a/",
				"spec.parentResource: update resourceclaims.resource.k8s.io/binding", "spec.parentResource: arbitrary-node:update resourceclaims.resource.k8s.io/driver a/",
			},
		},
		"a customize hook may ask for anything": {
			composed(asking()), []string{readParents, writeStatus, writePods, "spec.hooks.customize: get,list,watch *.*"},
		},
		"a customize hook may ask for anything in the namespaces of the controller": {
			composed(childless, asking(), within("a")), []string{
				"spec.parentResource: get,list,watch pages.example.com a/", "spec.parentResource: update pages.example.com/status a/",
				"spec.hooks.customize: get,list,watch *.* a/",
			},
		},
		"a customize hook may ask for what is declared": {
			composed(asking(nodes, pods)), []string{
				readParents, writeStatus, writePods, "spec.relatedResources[0]: get,list,watch nodes", "spec.relatedResources[1]: get,list,watch pods",
			},
		},
		"what is declared is in the namespaces of the controller, or in none": {
			composed(childless, asking(nodes, pods), within("a")), []string{
				"spec.parentResource: get,list,watch pages.example.com a/", "spec.parentResource: update pages.example.com/status a/",
				"spec.relatedResources[0]: get,list,watch nodes", "spec.relatedResources[1]: get,list,watch pods a/",
			},
		},
		"without a customize hook, nothing is asked for": {
			composed(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.RelatedResources = []v1alpha1.ResourceRule{nodes}
			}),
			[]string{readParents, writeStatus, writePods},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, read(controllerOf(test.of).requiredRights(known))); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
}

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
