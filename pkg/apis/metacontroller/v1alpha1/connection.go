// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// Address returns the fields of a webhook that give its address.
func (w *Webhook) Address() hookaddress.Address {
	return hookaddress.Address{URL: w.URL, Service: (*hookaddress.Service)(w.Service), Path: w.Path}
}

// Connection holds the settings that a webhook and an entry of endpointConfigs have in common.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type Connection struct {
	CABundle      *CABundle
	ClientTLS     *ClientTLS
	Authorization *Authorization
	BasicAuth     *BasicAuth
}

// Connection returns the connection settings of a webhook.
func (w *Webhook) Connection() Connection {
	return Connection{CABundle: w.CABundle, ClientTLS: w.ClientTLS, Authorization: w.Authorization, BasicAuth: w.BasicAuth}
}

// Connection returns the connection settings of an entry of endpointConfigs.
func (e *EndpointConfig) Connection() Connection {
	return Connection{CABundle: e.CABundle, ClientTLS: e.ClientTLS, Authorization: e.Authorization, BasicAuth: e.BasicAuth}
}

// ObjectReference is a field that names a Secret or a ConfigMap, and keys in it.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type ObjectReference struct {
	Path *field.Path
	// Kind is Secret or ConfigMap.
	Kind, Name, Namespace string
	Keys                  []ObjectKey
}

// ObjectKey is a field that names a key of a Secret or a ConfigMap. The name may be empty.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type ObjectKey struct {
	Path *field.Path
	Name string
}

// References returns the Secrets and ConfigMaps that the settings are read from. Path is the field
// that holds the settings.
func (c Connection) References(path *field.Path) []ObjectReference {
	var all []ObjectReference
	if bundle := c.CABundle; bundle != nil {
		for _, source := range []struct {
			kind, field string
			ref         *ResourceKeyRef
		}{{"Secret", "secretRef", bundle.SecretRef}, {"ConfigMap", "configMapRef", bundle.ConfigMapRef}} {
			if ref := source.ref; ref != nil {
				at := path.Child("caBundle", source.field)
				all = append(all, ObjectReference{at, source.kind, ref.Name, ref.Namespace, []ObjectKey{{at.Child("key"), ref.Key}}})
			}
		}
	}
	if tls := c.ClientTLS; tls != nil {
		at := path.Child("clientTLS")
		all = append(all, ObjectReference{at.Child("secretRef"), "Secret", tls.SecretRef.Name, tls.SecretRef.Namespace, []ObjectKey{
			{at.Child("certKey"), tls.CertKey}, {at.Child("privateKeyKey"), tls.PrivateKeyKey},
		}})
	}
	if authorization := c.Authorization; authorization != nil {
		at, ref := path.Child("authorization", "secretRef"), authorization.SecretRef
		all = append(all, ObjectReference{at, "Secret", ref.Name, ref.Namespace, []ObjectKey{{at.Child("key"), ref.Key}}})
	}
	if auth := c.BasicAuth; auth != nil {
		at := path.Child("basicAuth")
		all = append(all, ObjectReference{at.Child("secretRef"), "Secret", auth.SecretRef.Name, auth.SecretRef.Namespace, []ObjectKey{
			{at.Child("usernameKey"), auth.UsernameKey}, {at.Child("passwordKey"), auth.PasswordKey},
		}})
	}
	return all
}
