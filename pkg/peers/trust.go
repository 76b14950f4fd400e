// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// trustTimeout bounds a request for whom the cluster trusts. A stream can wait for that longer than a user.
const trustTimeout = 5 * time.Second

// Trust makes clients for peers.
type Trust struct {
	// host is the configuration of the cluster, with the credentials of this process.
	host   *rest.Config
	client rest.Interface
	// apiService is the name of the APIService of the server.
	apiService string

	mu sync.Mutex
	// last is the last client, and trusts is whom it trusts.
	last   *http.Client
	trusts string
}

// NewTrust returns what trusts the replicas that the cluster trusts, as its APIService says. Client is a client of the cluster that
// may read that.
func NewTrust(host *rest.Config, client rest.Interface, apiService string) *Trust {
	return &Trust{host: host, client: client, apiService: apiService}
}

// apiService is what an APIService says of whom the cluster trusts.
type apiService struct {
	Spec struct {
		CABundle              []byte `json:"caBundle"`
		InsecureSkipTLSVerify bool   `json:"insecureSkipTLSVerify"`
		Service               *struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"service"`
	} `json:"spec"`
}

// Connect returns a client: the same one as before as long as the APIService says the same.
func (t *Trust) Connect(ctx context.Context) (*http.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, trustTimeout)
	defer cancel()
	raw, err := t.client.Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices", t.apiService).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("reading by which authority the cluster trusts the replicas: %w", err)
	}
	config, err := t.config(raw)
	if err != nil {
		return nil, fmt.Errorf("APIService %s: %w", t.apiService, err)
	}
	return t.clientFor(config)
}

func (t *Trust) clientFor(config *rest.Config) (*http.Client, error) {
	trusts := config.ServerName + "\n" + string(config.CAData)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil && t.trusts == trusts {
		return t.last, nil
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	if t.last != nil {
		t.last.CloseIdleConnections()
	}
	t.last, t.trusts = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, trusts
	return t.last, nil
}

// Close closes the connections that are not in use.
func (t *Trust) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil {
		t.last.CloseIdleConnections()
	}
}

// config returns a configuration with the credentials of this process that trusts what an APIService says. Credentials are sent
// to nobody who is not trusted.
func (t *Trust) config(raw []byte) (*rest.Config, error) {
	var service apiService
	if err := json.Unmarshal(raw, &service); err != nil {
		return nil, err
	}
	switch {
	case service.Spec.Service == nil:
		return nil, errors.New("it is not served by a server of its own")
	case service.Spec.InsecureSkipTLSVerify:
		return nil, errors.New("it checks no certificates, so the replicas cannot trust one another: set its caBundle, or use --certificate-secret")
	}
	config := rest.CopyConfig(t.host)
	config.CAFile, config.CAData = "", service.Spec.CABundle
	config.Insecure = false
	config.ServerName = service.Spec.Service.Name + "." + service.Spec.Service.Namespace + ".svc"
	config.QPS, config.RateLimiter, config.Timeout = -1, nil, 0
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // peers are not out in the world
	return config, nil
}
