// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// currentCluster reads what kubectl would use: $KUBECONFIG, which may name several files, else
// ~/.kube/config.
func currentCluster() (*rest.Config, clientcmdapi.Config, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, clientcmdapi.Config{}, errors.New("there is no kubeconfig: set KUBECONFIG to the file of a cluster, or run one with `make host`")
	}
	if err != nil {
		return nil, clientcmdapi.Config{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, clientcmdapi.Config{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return config, raw, nil
}

// writeKubeconfig writes the current context of a kubeconfig into one file, as the server's flag
// wants it.
func writeKubeconfig(config clientcmdapi.Config, dir string) (string, error) {
	if err := clientcmdapi.MinifyConfig(&config); err != nil {
		return "", fmt.Errorf("take the current context out of the kubeconfig: %w", err)
	}
	if err := clientcmdapi.FlattenConfig(&config); err != nil {
		return "", fmt.Errorf("read the files that the kubeconfig names: %w", err)
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(config, path); err != nil {
		return "", fmt.Errorf("write the server's kubeconfig: %w", err)
	}
	return path, nil
}
