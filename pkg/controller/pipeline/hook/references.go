// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
)

// References returns the Secrets and ConfigMaps that the webhook of that name reads when it is
// connected. A webhook whose address is invalid reads none, because New refuses it.
func References(name string, hook *v1alpha1.Hook, endpoints []v1alpha1.EndpointConfig) []transport.Reference {
	target, err := hook.Webhook.Address().Parse()
	if err != nil {
		return nil
	}
	return transport.References(name, hook.Webhook, target, endpoints)
}
