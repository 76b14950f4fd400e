// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"testing"

	"k8s.io/client-go/rest"
)

func TestWhomReplicasTrust(t *testing.T) {
	trust := NewTrust(&rest.Config{
		BearerToken:     "token",
		TLSClientConfig: rest.TLSClientConfig{CAFile: "/host", CAData: []byte("host"), CertData: []byte("cert")},
	}, nil, "v1")
	config, err := trust.config([]byte(`{"spec":{"caBundle":"Y2E=","service":{"namespace":"ns","name":"svc"}}}`))
	if err != nil || string(config.CAData) != "ca" || config.CAFile != "" || config.ServerName != "svc.ns.svc" ||
		config.BearerToken != "token" || string(config.CertData) != "cert" {
		t.Errorf("the configuration is %+v, %v", config, err)
	}
	for name, service := range map[string]string{
		"nobody if the cluster does not check": `{"spec":{"insecureSkipTLSVerify":true,` +
			`"service":{"namespace":"ns","name":"svc"}}}`,
		"nobody if the API is that of the cluster": `{"spec":{}}`,
		"nobody if there is no answer":             ``,
	} {
		t.Run(name, func(t *testing.T) {
			if config, err := trust.config([]byte(service)); err == nil {
				t.Errorf("the configuration is %+v", config)
			}
		})
	}
}
