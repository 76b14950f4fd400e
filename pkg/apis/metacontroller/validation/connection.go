// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"crypto/x509"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// validateReferences checks that every reference has a name and a namespace.
func validateReferences(settings v1alpha1.Connection, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, ref := range settings.References(path) {
		errs = append(errs, validateReference(ref.Kind, ref.Name, ref.Namespace, ref.Path)...)
	}
	if authorization := settings.Authorization; authorization != nil && authorization.SecretRef.Key == "" {
		errs = append(errs, field.Required(path.Child("authorization", "secretRef", "key"),
			"must be the key of the credential in the Secret"))
	}
	return errs
}

func validateReference(kind, name, namespace string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if name == "" {
		errs = append(errs, field.Required(path.Child("name"), "must be the name of the "+kind))
	}
	if namespace == "" {
		errs = append(errs, field.Required(path.Child("namespace"), "must be the namespace of the "+kind))
	}
	return errs
}

// validateConnection checks that the settings allow connections once the referenced objects exist.
func validateConnection(settings v1alpha1.Connection, path *field.Path) field.ErrorList {
	errs := validateCABundle(settings.CABundle, path.Child("caBundle"))
	for _, ref := range settings.References(path) {
		errs = append(errs, validateExistable(ref)...)
	}
	if settings.Authorization != nil {
		errs = append(errs, validateAuthorizationType(settings.Authorization.GetType(),
			path.Child("authorization", "type"))...)
		if settings.BasicAuth != nil {
			errs = append(errs, field.Forbidden(path.Child("basicAuth"),
				"cannot be combined with authorization: both set the Authorization header"))
		}
	}
	return errs
}

// validateExistable checks that an object with the name and the keys can exist.
func validateExistable(ref v1alpha1.ObjectReference) field.ErrorList {
	var errs field.ErrorList
	if ref.Name != "" && len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		errs = append(errs, field.Invalid(ref.Path.Child("name"), ref.Name,
			"must be the name of a "+ref.Kind+": lower-case letters, digits, '-' and '.'"))
	}
	if ref.Namespace != "" && len(validation.IsDNS1123Label(ref.Namespace)) > 0 {
		errs = append(errs, field.Invalid(ref.Path.Child("namespace"), ref.Namespace,
			"must be the name of a namespace: lower-case letters, digits and '-'"))
	}
	for _, key := range ref.Keys {
		if key.Name != "" && len(validation.IsConfigMapKey(key.Name)) > 0 {
			errs = append(errs, field.Invalid(key.Path, key.Name,
				"must be a key of a "+ref.Kind+": letters, digits, '-', '_' and '.'"))
		}
	}
	return errs
}

// maxQuoted is the number of bytes of a certificate that an error quotes, enough to recognise it.
const maxQuoted = 40

func validateCABundle(bundle *v1alpha1.CABundle, path *field.Path) field.ErrorList {
	if bundle == nil {
		return nil
	}
	switch set := hookaddress.CASources(bundle.Inline, bundle.SecretRef, bundle.ConfigMapRef); {
	case len(set) == 0:
		return field.ErrorList{field.Required(path, "must have one of inline, secretRef and configMapRef")}
	case len(set) > 1:
		return field.ErrorList{field.Invalid(path, strings.Join(set, ", "),
			"must have only one of inline, secretRef and configMapRef")}
	case bundle.Inline != nil && *bundle.Inline != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(*bundle.Inline)):
		return field.ErrorList{field.Invalid(path.Child("inline"), text.Shorten(*bundle.Inline, maxQuoted),
			"must hold certificates in PEM form, which begin with -----BEGIN CERTIFICATE-----")}
	}
	return nil
}

func validateAuthorizationType(scheme string, path *field.Path) field.ErrorList {
	switch {
	case strings.EqualFold(scheme, "basic"):
		return field.ErrorList{field.Invalid(path, scheme, "is not supported here: set basicAuth instead of authorization")}
	case strings.ContainsFunc(scheme, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return field.ErrorList{field.Invalid(path, scheme, `must be text that a header can hold, such as "Bearer"`)}
	}
	return nil
}

// validateEndpointConfigs checks the entries of endpointConfigs. Only an entry that a hook uses must allow a connection.
func validateEndpointConfigs(configs []v1alpha1.EndpointConfig, hooks []namedHook, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	used := usedEndpoints(configs, hooks)
	for i := range configs {
		path := path.Index(i)
		if configs[i].Host == "" {
			errs = append(errs, field.Required(path.Child("host"),
				`must be the host of the webhooks, with or without a port, such as "my-hooks.my-namespace:8443"`))
		}
		settings := configs[i].Connection()
		errs = append(errs, validateReferences(settings, path)...)
		if used[i] {
			errs = append(errs, validateConnection(settings, path)...)
		}
	}
	return errs
}

// usedEndpoints returns, for each entry, whether a hook uses it. A hook without a valid address may
// use any of them.
func usedEndpoints(configs []v1alpha1.EndpointConfig, hooks []namedHook) []bool {
	used := make([]bool, len(configs))
	for _, hook := range hooks {
		if hook.webhook.Connection() != (v1alpha1.Connection{}) {
			continue
		}
		address := addressOf(hook.webhook)
		for i := range configs {
			if address == nil {
				used[i] = true
			} else if hookaddress.MatchesHost(configs[i].Host, address) {
				used[i] = true
				break
			}
		}
	}
	return used
}
