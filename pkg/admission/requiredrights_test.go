// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// read shows needs in few lines: "<path>: <verbs> <resource>".
func read(needs []requiredRight) []string {
	var lines []string
	for _, need := range needs {
		of := need.String()
		if need.subresource != "" {
			of += "/" + need.subresource
		}
		if need.namespace != "" {
			of += " " + need.namespace + "/" + need.name
		}
		prefix, suffix := need.path+": ", " "+of
		if last := len(lines) - 1; last >= 0 && strings.HasPrefix(lines[last], prefix) && strings.HasSuffix(lines[last], suffix) {
			lines[last] = strings.TrimSuffix(lines[last], suffix) + "," + need.verb + suffix
			continue
		}
		lines = append(lines, prefix+need.verb+suffix)
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
	secret := func(name string) metacontroller.SecretRef {
		return metacontroller.SecretRef{Namespace: "keys", Name: name}
	}
	confers := func(resource string) *metacontroller.CompositeController {
		return composed(child("rbac.authorization.k8s.io/v1", resource))
	}
	writes := func(resource string, more ...string) string {
		verbs := append([]string{"get,list,watch,create,update,patch,delete"}, more...)
		return "spec.childResources[1]: " + strings.Join(verbs, ",") + " " + resource
	}
	for name, test := range map[string]struct {
		of   runtime.Object
		want []string
	}{
		"a composite controller": {composed(), []string{readParents, writeStatus, writePods}},
		"with a finalize hook": {
			composed(func(spec *metacontroller.CompositeControllerSpec) {
				spec.Hooks.Finalize = hookAt("http://hooks.default/finalize")
			}),
			[]string{"spec.parentResource: get,list,watch,update pages.example.com", writeStatus, writePods},
		},
		"without hooks": {
			composed(func(spec *metacontroller.CompositeControllerSpec) { spec.Hooks = nil }),
			[]string{readParents, writeStatus, writePods},
		},
		"what names no type, as it was stored once": {
			composed(child("a/b/c", "pods"), child("", "pods"), child("v1", "")),
			[]string{readParents, writeStatus, writePods},
		},
		"children that confer rights: roles":          {confers("roles"), []string{readParents, writeStatus, writePods, writes("roles.rbac.authorization.k8s.io", "escalate")}},
		"children that confer rights: clusterroles":   {confers("clusterroles"), []string{readParents, writeStatus, writePods, writes("clusterroles.rbac.authorization.k8s.io", "escalate")}},
		"children that confer rights: their bindings": {confers("clusterrolebindings"), []string{readParents, writeStatus, writePods, writes("clusterrolebindings.rbac.authorization.k8s.io"), "spec.childResources[1]: bind clusterroles.rbac.authorization.k8s.io"}},
		"children that confer rights: bindings of a namespace": {confers("rolebindings"), []string{
			readParents, writeStatus, writePods, writes("rolebindings.rbac.authorization.k8s.io"),
			"spec.childResources[1]: bind roles.rbac.authorization.k8s.io", "spec.childResources[1]: bind clusterroles.rbac.authorization.k8s.io",
		}},
		"children that confer rights: controllers": {composed(child("metacontroller.k8s.io/v1alpha1", "compositecontrollers")), []string{
			readParents, writeStatus, writePods, writes("compositecontrollers.metacontroller.k8s.io", "escalate"),
		}},
		"what connections to hooks are made with": {
			composed(func(spec *metacontroller.CompositeControllerSpec) {
				webhook := spec.Hooks.Sync.Webhook
				webhook.CABundle = &metacontroller.CABundle{ConfigMapRef: &metacontroller.ResourceKeyRef{Namespace: "keys", Name: "ca"}}
				webhook.ClientTLS = &metacontroller.ClientTLS{SecretRef: secret("tls")}
				webhook.Authorization = &metacontroller.Authorization{SecretRef: metacontroller.SecretKeyRef{Namespace: "keys", Name: "token"}}
				spec.EndpointConfigs = []metacontroller.EndpointConfig{{
					Host: "hooks.default", BasicAuth: &metacontroller.BasicAuth{SecretRef: secret("password")},
					CABundle: &metacontroller.CABundle{SecretRef: &metacontroller.ResourceKeyRef{Namespace: "keys", Name: "bundle"}},
				}}
				spec.Hooks.PreUpdateChild = hookAt("http://hooks.default/never")
				spec.Hooks.PreUpdateChild.Webhook.ClientTLS = &metacontroller.ClientTLS{SecretRef: secret("")}
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
			if diff := cmp.Diff(test.want, read(controllerOf(test.of).requiredRights())); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
	if controllerOf(&metacontroller.ControllerRevision{}) != nil {
		t.Error("a ControllerRevision is taken for a controller")
	}
}

func TestOnlyWhatAnUpdateAddsIsNeeded(t *testing.T) {
	everything := []string{readParents, writeStatus, writePods}
	service := func(name string) func(*metacontroller.CompositeControllerSpec) {
		return func(spec *metacontroller.CompositeControllerSpec) {
			spec.Hooks.Sync.Webhook.URL = nil
			spec.Hooks.Sync.Webhook.Service = &metacontroller.ServiceReference{Name: name, Namespace: "default"}
			spec.Hooks.Sync.Webhook.Path = ptr.To("/sync")
		}
	}
	token := func(host string) func(*metacontroller.CompositeControllerSpec) {
		return func(spec *metacontroller.CompositeControllerSpec) {
			spec.EndpointConfigs = []metacontroller.EndpointConfig{{
				Host: host, Authorization: &metacontroller.Authorization{SecretRef: metacontroller.SecretKeyRef{Namespace: "keys", Name: "token"}},
			}}
		}
	}
	authority := func(pem string) func(*metacontroller.CompositeControllerSpec) {
		return func(spec *metacontroller.CompositeControllerSpec) {
			spec.Hooks.Sync.Webhook.CABundle = &metacontroller.CABundle{Inline: ptr.To(pem)}
		}
	}
	authorityOfHost := func(pem string) func(*metacontroller.CompositeControllerSpec) {
		return func(spec *metacontroller.CompositeControllerSpec) {
			spec.EndpointConfigs = []metacontroller.EndpointConfig{{Host: "hooks.default", CABundle: &metacontroller.CABundle{Inline: ptr.To(pem)}}}
		}
	}
	tests := map[string]struct {
		stored, updated *metacontroller.CompositeController
		want            []string
	}{
		"nothing":       {composed(), composed(), nil},
		"other fields":  {composed(), composed(func(spec *metacontroller.CompositeControllerSpec) { spec.ResyncPeriodSeconds = ptr.To[int32](5) }), nil},
		"one type less": {composed(child("v1", "services")), composed(), nil},
		"one type more": {composed(), composed(child("v1", "services")), []string{"spec.childResources[1]: get,list,watch,create,update,patch,delete services"}},
		"another version of a type": {composed(), composed(func(spec *metacontroller.CompositeControllerSpec) {
			spec.ParentResource.APIVersion = "example.com/v2"
		}), nil},
		"a finalize hook where the sync hook is": {composed(), composed(func(spec *metacontroller.CompositeControllerSpec) {
			spec.Hooks.Finalize = spec.Hooks.Sync
		}), []string{"spec.parentResource: update pages.example.com"}},
		"a hook somewhere else": {composed(), composed(func(spec *metacontroller.CompositeControllerSpec) {
			spec.Hooks.Sync = hookAt("http://mallory.example/sync")
		}), everything},
		"one more hook somewhere else": {composed(), composed(func(spec *metacontroller.CompositeControllerSpec) {
			spec.Hooks.Customize = hookAt("http://mallory.example/customize")
		}), everything},
		"another service": {composed(service("hooks")), composed(service("mallory")), everything},
		"a url said as a service": {composed(func(spec *metacontroller.CompositeControllerSpec) {
			spec.Hooks.Sync = hookAt("http://hooks.default:80/sync")
		}), composed(service("hooks")), nil},
		"other authorities":                        {composed(authority("theirs")), composed(authority("mallory's")), everything},
		"authorities taken away":                   {composed(authority("theirs")), composed(), everything},
		"the same authorities":                     {composed(authority("theirs")), composed(authority("theirs")), nil},
		"other authorities for a host":             {composed(authorityOfHost("theirs")), composed(authorityOfHost("mallory's")), everything},
		"a credential":                             {composed(), composed(token("hooks.default")), []string{"spec.endpointConfigs[0].authorization.secretRef: get secrets keys/token"}},
		"the same credential":                      {composed(token("hooks.default")), composed(token("hooks.default")), nil},
		"the same credential, sent somewhere else": {composed(token("hooks.default")), composed(token("mallory.example")), []string{"spec.endpointConfigs[0].authorization.secretRef: get secrets keys/token"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, read(controllerOf(test.updated).addedRights(controllerOf(test.stored)))); diff != "" {
				t.Errorf("added needs (-want +got):\n%s", diff)
			}
		})
	}
	if got := read(controllerOf(composed()).addedRights(nil)); !slices.Equal(got, everything) {
		t.Errorf("a new controller needs %q", got)
	}
}
