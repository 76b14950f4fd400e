// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"crypto/x509"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// connection is what a webhook and an entry of endpointConfigs have in common.
type connection struct {
	caBundle      *metacontroller.CABundle
	clientTLS     *metacontroller.ClientTLS
	authorization *metacontroller.Authorization
	basicAuth     *metacontroller.BasicAuth
}

func settingsOfWebhook(webhook *metacontroller.Webhook) connection {
	return connection{caBundle: webhook.CABundle, clientTLS: webhook.ClientTLS, authorization: webhook.Authorization, basicAuth: webhook.BasicAuth}
}

// reference is a field that names a Secret or a ConfigMap and keys in it.
type reference struct {
	path                  *field.Path
	kind, name, namespace string
	keys                  []key
}

type key struct {
	path *field.Path
	name string
}

func (c connection) references(path *field.Path) []reference {
	var all []reference
	if bundle := c.caBundle; bundle != nil {
		for _, source := range []struct {
			kind, field string
			ref         *metacontroller.ResourceKeyRef
		}{{"Secret", "secretRef", bundle.SecretRef}, {"ConfigMap", "configMapRef", bundle.ConfigMapRef}} {
			if ref := source.ref; ref != nil {
				at := path.Child("caBundle", source.field)
				all = append(all, reference{at, source.kind, ref.Name, ref.Namespace, []key{{at.Child("key"), ref.Key}}})
			}
		}
	}
	if tls := c.clientTLS; tls != nil {
		at := path.Child("clientTLS")
		all = append(all, reference{at.Child("secretRef"), "Secret", tls.SecretRef.Name, tls.SecretRef.Namespace, []key{
			{at.Child("certKey"), tls.CertKey}, {at.Child("privateKeyKey"), tls.PrivateKeyKey},
		}})
	}
	if authorization := c.authorization; authorization != nil {
		at, ref := path.Child("authorization", "secretRef"), authorization.SecretRef
		all = append(all, reference{at, "Secret", ref.Name, ref.Namespace, []key{{at.Child("key"), ref.Key}}})
	}
	if auth := c.basicAuth; auth != nil {
		at := path.Child("basicAuth")
		all = append(all, reference{at.Child("secretRef"), "Secret", auth.SecretRef.Name, auth.SecretRef.Namespace, []key{
			{at.Child("usernameKey"), auth.UsernameKey}, {at.Child("passwordKey"), auth.PasswordKey},
		}})
	}
	return all
}

// validateReferences checks that every reference names something.
func validateReferences(settings connection, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, ref := range settings.references(path) {
		errs = append(errs, validateReference(ref.kind, ref.name, ref.namespace, ref.path)...)
	}
	if authorization := settings.authorization; authorization != nil && authorization.SecretRef.Key == "" {
		errs = append(errs, field.Required(path.Child("authorization", "secretRef", "key"), "is the key of the credential in the Secret"))
	}
	return errs
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

// validateConnection checks that connections can be made with the settings, once the objects that they refer to are there.
func validateConnection(settings connection, path *field.Path) field.ErrorList {
	errs := validateCABundle(settings.caBundle, path.Child("caBundle"))
	for _, ref := range settings.references(path) {
		errs = append(errs, validateExistable(ref)...)
	}
	if settings.authorization != nil {
		errs = append(errs, validateAuthorizationType(settings.authorization.Type, path.Child("authorization", "type"))...)
		if settings.basicAuth != nil {
			errs = append(errs, field.Forbidden(path.Child("basicAuth"), "cannot be set beside authorization: both are the Authorization header"))
		}
	}
	return errs
}

// validateExistable checks that there can be an object of the name, with the keys.
func validateExistable(ref reference) field.ErrorList {
	var errs field.ErrorList
	if ref.name != "" && len(validation.IsDNS1123Subdomain(ref.name)) > 0 {
		errs = append(errs, field.Invalid(ref.path.Child("name"), ref.name, "is the name of no "+ref.kind+": they have lower-case letters, digits, '-' and '.'"))
	}
	if ref.namespace != "" && len(validation.IsDNS1123Label(ref.namespace)) > 0 {
		errs = append(errs, field.Invalid(ref.path.Child("namespace"), ref.namespace, "is the name of no namespace: they have lower-case letters, digits and '-'"))
	}
	for _, key := range ref.keys {
		if key.name != "" && len(validation.IsConfigMapKey(key.name)) > 0 {
			errs = append(errs, field.Invalid(key.path, key.name, "is a key of no "+ref.kind+": they have letters, digits, '-', '_' and '.'"))
		}
	}
	return errs
}

func validateCABundle(bundle *metacontroller.CABundle, path *field.Path) field.ErrorList {
	if bundle == nil {
		return nil
	}
	switch set := hookaddress.CASources(bundle.Inline, bundle.SecretRef, bundle.ConfigMapRef); {
	case len(set) == 0:
		return field.ErrorList{field.Required(path, "must have one of inline, secretRef and configMapRef")}
	case len(set) > 1:
		return field.ErrorList{field.Invalid(path, strings.Join(set, ", "), "must have only one of inline, secretRef and configMapRef")}
	case bundle.Inline != nil && *bundle.Inline != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(*bundle.Inline)):
		return field.ErrorList{field.Invalid(path.Child("inline"), beginning(*bundle.Inline),
			"must hold certificates in PEM form, which begin with -----BEGIN CERTIFICATE-----")}
	}
	return nil
}

// beginning is enough of a text to recognise it by.
func beginning(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func validateAuthorizationType(scheme string, path *field.Path) field.ErrorList {
	switch scheme = strings.TrimSpace(scheme); {
	case strings.EqualFold(scheme, "basic"):
		return field.ErrorList{field.Invalid(path, scheme, "is not for here: set basicAuth instead of authorization")}
	case strings.ContainsFunc(scheme, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return field.ErrorList{field.Invalid(path, scheme, `must be text that a header can hold, such as "Bearer"`)}
	}
	return nil
}
