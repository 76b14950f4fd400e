// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// UnsupportedError tells that a spec is right and asks for something this version
// does not do yet. Running such a controller without it would do harm: a finalize
// hook that is not called leaves behind what it was to clean up.
type UnsupportedError struct{ Fields []string }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("this version does not support %s yet", strings.Join(e.Fields, ", "))
}

// checkSupported returns an *UnsupportedError that names all that is asked for in vain.
func checkSupported(spec *v1alpha1.CompositeControllerSpec) error {
	var fields []string
	unless := func(supported bool, field string) {
		if !supported {
			fields = append(fields, field)
		}
	}
	hooks, webhook := spec.Hooks, spec.Hooks.Sync.Webhook
	unless(hooks.Finalize == nil, "hooks.finalize")
	unless(hooks.Customize == nil, "hooks.customize")
	unless(webhook.CABundle == nil, "hooks.sync.webhook.caBundle")
	unless(webhook.ClientTLS == nil, "hooks.sync.webhook.clientTLS")
	unless(webhook.Authorization == nil, "hooks.sync.webhook.authorization")
	unless(webhook.BasicAuth == nil, "hooks.sync.webhook.basicAuth")
	unless(len(spec.EndpointConfigs) == 0, "endpointConfigs")
	for i, rule := range spec.ChildResources {
		if strategy := rule.UpdateStrategy; strategy != nil {
			unless(strategy.Method != v1alpha1.ChildUpdateRollingRecreate && strategy.Method != v1alpha1.ChildUpdateRollingInPlace,
				fmt.Sprintf("childResources[%d].updateStrategy.method %s", i, strategy.Method))
		}
	}
	if len(fields) > 0 {
		return &UnsupportedError{Fields: fields}
	}
	return nil
}
