// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/url"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Reference is a Secret or ConfigMap that a hook is connected with.
type Reference struct {
	Source
	// Field is the field of the spec that names it.
	Field string
}

// References returns what the transport that New returns for a hook reads when it is opened.
func References(hook string, webhook *v1alpha1.Webhook, target *url.URL, endpoints []v1alpha1.EndpointConfig) []Reference {
	settings := settingsOf(hook, webhook, target, endpoints)
	return settings.references()
}

func (s *settings) references() (found []Reference) {
	add := func(field string, source Source) { found = append(found, Reference{source, s.path + field}) }
	if bundle := s.caBundle; bundle != nil && bundle.SecretRef != nil {
		add(".caBundle.secretRef", secret(bundle.SecretRef.Namespace, bundle.SecretRef.Name))
	}
	if bundle := s.caBundle; bundle != nil && bundle.ConfigMapRef != nil {
		add(".caBundle.configMapRef", configMap(bundle.ConfigMapRef.Namespace, bundle.ConfigMapRef.Name))
	}
	if s.clientTLS != nil {
		add(".clientTLS.secretRef", secret(s.clientTLS.SecretRef.Namespace, s.clientTLS.SecretRef.Name))
	}
	if s.authorization != nil {
		add(".authorization.secretRef", secret(s.authorization.SecretRef.Namespace, s.authorization.SecretRef.Name))
	}
	if s.basicAuth != nil {
		add(".basicAuth.secretRef", secret(s.basicAuth.SecretRef.Namespace, s.basicAuth.SecretRef.Name))
	}
	return found
}
