// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hostcluster

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// RESTConfig returns a client configuration for a user of that name in those groups, authenticated
// by certificate. Client-side rate limits are off.
func (c *Cluster) RESTConfig(user string, groups ...string) (*rest.Config, error) {
	pair, err := c.ca.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: c.url,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.ca.Cert,
			CertData: pair.Cert,
			KeyData:  pair.Key,
		},
		QPS: -1,
	}, nil
}

// WriteKubeconfig writes a kubeconfig for a user of that name in those groups and returns its path.
// The name is that of the file, without extension; a file that is there already is replaced.
func (c *Cluster) WriteKubeconfig(name, user string, groups ...string) (string, error) {
	pair, err := c.ca.Client(user, groups...)
	if err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["host"] = &clientcmdapi.Cluster{Server: c.url, CertificateAuthorityData: c.ca.Cert}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	config.Contexts["host"] = &clientcmdapi.Context{Cluster: "host", AuthInfo: name}
	config.CurrentContext = "host"

	path := filepath.Join(c.dir, name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", user, err)
	}
	return path, nil
}
