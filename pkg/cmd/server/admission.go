// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"io"

	genericadmission "k8s.io/apiserver/pkg/admission"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/admission"
)

// addAdmissionPlugins adds our own plugins after those that run the host's rules, which may change an object.
func addAdmissionPlugins(options *genericoptions.AdmissionOptions, controllers *ControllerOptions) {
	options.Plugins.Register(admission.HookAddressesPlugin, func(io.Reader) (genericadmission.Interface, error) {
		return admission.NewHookAddresses(controllers.HookDenied), nil
	})
	options.Plugins.Register(admission.RightsPlugin, admission.NewRights)
	options.RecommendedPluginOrder = append(options.RecommendedPluginOrder, admission.HookAddressesPlugin, admission.RightsPlugin)
}

// initializeAdmission tells our plugins how to ask the host.
func initializeAdmission(config *genericapiserver.RecommendedConfig) ([]genericadmission.PluginInitializer, error) {
	if config.ClientConfig == nil {
		return nil, nil
	}
	// One request may have dozens of reviews. How many there can be at once is for the host to limit.
	hostConfig := rest.AddUserAgent(rest.CopyConfig(config.ClientConfig), "admission")
	hostConfig.QPS = -1
	client, err := kubernetes.NewForConfig(hostConfig)
	if err != nil {
		return nil, fmt.Errorf("making a client of the host cluster for admission: %w", err)
	}
	host := admission.Host{Reviews: client.AuthorizationV1().SubjectAccessReviews(), Types: client.Discovery()}
	return []genericadmission.PluginInitializer{admission.NewInitializer(host)}, nil
}
