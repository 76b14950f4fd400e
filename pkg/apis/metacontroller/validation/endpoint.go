// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

func validateEndpointConfigs(configs []metacontroller.EndpointConfig, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range configs {
		config, path := &configs[i], path.Index(i)
		if config.Host == "" {
			errs = append(errs, field.Required(path.Child("host"),
				`is the host of the webhooks, with or without a port, such as "my-hooks.my-namespace:8443"`))
		}
		errs = append(errs, validateConnection(connection{
			caBundle: config.CABundle, clientTLS: config.ClientTLS, authorization: config.Authorization, basicAuth: config.BasicAuth,
		}, path)...)
	}
	return errs
}

// connection is what a webhook and an entry of endpointConfigs have in common.
type connection struct {
	caBundle      *metacontroller.CABundle
	clientTLS     *metacontroller.ClientTLS
	authorization *metacontroller.Authorization
	basicAuth     *metacontroller.BasicAuth
}

// validateConnection checks that every reference names something.
func validateConnection(settings connection, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if bundle := settings.caBundle; bundle != nil {
		errs = append(errs, validateResourceKeyRef(bundle.SecretRef, "Secret", path.Child("caBundle", "secretRef"))...)
		errs = append(errs, validateResourceKeyRef(bundle.ConfigMapRef, "ConfigMap", path.Child("caBundle", "configMapRef"))...)
	}
	if tls := settings.clientTLS; tls != nil {
		errs = append(errs, validateReference("Secret", tls.SecretRef.Name, tls.SecretRef.Namespace, path.Child("clientTLS", "secretRef"))...)
	}
	if authorization := settings.authorization; authorization != nil {
		ref, path := authorization.SecretRef, path.Child("authorization", "secretRef")
		errs = append(errs, validateReference("Secret", ref.Name, ref.Namespace, path)...)
		if ref.Key == "" {
			errs = append(errs, field.Required(path.Child("key"), "is the key of the credential in the Secret"))
		}
	}
	if auth := settings.basicAuth; auth != nil {
		errs = append(errs, validateReference("Secret", auth.SecretRef.Name, auth.SecretRef.Namespace, path.Child("basicAuth", "secretRef"))...)
	}
	return errs
}

func validateResourceKeyRef(ref *metacontroller.ResourceKeyRef, kind string, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	return validateReference(kind, ref.Name, ref.Namespace, path)
}

func validateReference(kind, name, namespace string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if name == "" {
		errs = append(errs, field.Required(path.Child("name"), "is the name of the "+kind))
	}
	if namespace == "" {
		errs = append(errs, field.Required(path.Child("namespace"), "is the namespace of the "+kind))
	}
	return errs
}
