// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

const (
	// trustTimeout bounds a request for whom the cluster trusts.
	trustTimeout = 5 * time.Second
	// dialTimeout bounds the attempt to connect to another replica, whose machine may be gone.
	dialTimeout = 3 * time.Second
)

// Trust makes connections to other replicas. A replica trusts another one as the cluster trusts it: by the caBundle
// of the APIService, and by the name of the Service. It shows itself as the user that it is at the cluster.
type Trust struct {
	// host is the configuration of the cluster, with the credentials of this process.
	host   *rest.Config
	client rest.Interface
	// apiService is the name of the APIService of the server.
	apiService string

	mu sync.Mutex
	// last is the last transport, and trusts is whom it trusts.
	last   http.RoundTripper
	trusts string
}

// NewTrust returns what trusts the replicas that the cluster trusts, as its APIService says. Client is a client of the cluster that
// may read that.
func NewTrust(host *rest.Config, client rest.Interface, apiService string) *Trust {
	return &Trust{host: host, client: client, apiService: apiService}
}

// trustedService is what an APIService says of whom the cluster trusts.
type trustedService struct {
	Spec struct {
		CABundle              []byte `json:"caBundle"`
		InsecureSkipTLSVerify bool   `json:"insecureSkipTLSVerify"`
		Service               *struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"service"`
	} `json:"spec"`
}

// Connect returns a transport: the same one as before as long as the APIService says the same.
func (t *Trust) Connect(ctx context.Context) (http.RoundTripper, error) {
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
	return t.transportFor(config)
}

func (t *Trust) transportFor(config *rest.Config) (http.RoundTripper, error) {
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
	t.closeIdle()
	t.last, t.trusts = transport, trusts
	return transport, nil
}

// Close closes the connections that are not in use.
func (t *Trust) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeIdle()
}

func (t *Trust) closeIdle() {
	if t.last != nil {
		utilnet.CloseIdleConnectionsFor(t.last)
	}
}

// config returns a configuration with the credentials of this process that trusts what an APIService says. Credentials are sent
// to nobody who is not trusted.
func (t *Trust) config(raw []byte) (*rest.Config, error) {
	var service trustedService
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
	config.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // replicas are not out in the world
	return config, nil
}
