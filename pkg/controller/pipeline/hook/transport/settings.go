// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// settings are the connection settings of a hook.
type settings struct {
	// path is the field of the spec that has them, or the field of the webhook if there are none.
	path string
	v1alpha1.Connection
}

// settingsOf returns the settings of a hook: the webhook's own if it has any, else the settings of the first
// endpoint whose host matches. The two are not merged.
func settingsOf(name string, webhook *v1alpha1.Webhook, target *url.URL, endpoints []v1alpha1.EndpointConfig) settings {
	own := settings{fmt.Sprintf("spec.hooks.%s.webhook", name), webhook.Connection()}
	if !own.empty() {
		return own
	}
	for i, endpoint := range endpoints {
		if hookaddress.MatchesHost(endpoint.Host, target) {
			return settings{fmt.Sprintf("spec.endpointConfigs[%d]", i), endpoint.Connection()}
		}
	}
	return own
}

// empty reports whether nothing is set.
func (s *settings) empty() bool { return s.Connection == v1alpha1.Connection{} }

// Reference is a Secret or ConfigMap that a hook needs for its connections.
type Reference struct {
	Source
	// Field is the field of the spec that names it.
	Field string
}

// References returns the Secrets and ConfigMaps that the transport of a hook reads when it is opened.
func References(
	hook string, webhook *v1alpha1.Webhook, target *url.URL, endpoints []v1alpha1.EndpointConfig,
) []Reference {
	settings := settingsOf(hook, webhook, target, endpoints)
	return settings.references()
}

func (s *settings) references() (found []Reference) {
	for _, reference := range s.References(field.NewPath(s.path)) {
		source := secret
		if reference.Kind == "ConfigMap" {
			source = configMap
		}
		found = append(found, Reference{source(reference.Namespace, reference.Name), reference.Path.String()})
	}
	return found
}
