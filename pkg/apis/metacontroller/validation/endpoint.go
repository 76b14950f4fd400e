// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// validateEndpointConfigs checks those entries closer that a hook uses. The others do no harm.
func validateEndpointConfigs(configs []metacontroller.EndpointConfig, hooks []namedHook, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	used := usedEndpoints(configs, hooks)
	for i := range configs {
		path := path.Index(i)
		if configs[i].Host == "" {
			errs = append(errs, field.Required(path.Child("host"),
				`is the host of the webhooks, with or without a port, such as "my-hooks.my-namespace:8443"`))
		}
		settings := configs[i].Connection()
		errs = append(errs, validateReferences(settings, path)...)
		if used[i] {
			errs = append(errs, validateConnection(settings, path)...)
		}
	}
	return errs
}

// usedEndpoints says of each entry whether it is the one that some hook uses. As long as it is not known where a hook is
// called, each might be.
func usedEndpoints(configs []metacontroller.EndpointConfig, hooks []namedHook) []bool {
	used := make([]bool, len(configs))
	for _, hook := range hooks {
		if hook.webhook.Connection() != (metacontroller.Connection{}) {
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
