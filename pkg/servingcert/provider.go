// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// checkInterval is how often a running server checks whether its certificate has to be renewed. The
// check reads no file.
const checkInterval = time.Minute

// Config is the configuration of a Provider.
type Config struct {
	// Dir is the directory of ca.crt, ca.key, serving.crt and serving.key. It is created with mode
	// 0700 if it is missing. A certificate authority in it is used.
	Dir string

	// DNSNames and IPs are the names and addresses that clients reach the server by.
	DNSNames []string
	IPs      []net.IP

	// Clock is the clock to renew by; nil means the real one.
	Clock clock.WithTicker
}

// Provider provides a serving certificate that is valid at any time. The API server runs it, gets
// the certificate from it, and listens for new ones.
type Provider struct {
	dir      string
	subjects subjects
	clock    clock.WithTicker

	mu        sync.RWMutex
	authority *authority
	serving   *serving
	listeners []dynamiccertificates.Listener
}

var (
	_ dynamiccertificates.CertKeyContentProvider = &Provider{}
	_ dynamiccertificates.ControllerRunner       = &Provider{}
)

// New reads the certificates in the directory, and makes new ones for those that are missing or unfit.
func New(ctx context.Context, config Config) (*Provider, error) {
	p := &Provider{
		dir:      config.Dir,
		subjects: subjects{dnsNames: config.DNSNames, ips: config.IPs},
		clock:    config.Clock,
	}
	if p.clock == nil {
		p.clock = clock.RealClock{}
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of the serving certificate cannot be made: %w", err)
	}
	var err error
	if p.authority, err = loadAuthority(p.dir); err != nil {
		return nil, err
	}
	if p.serving, err = loadServing(p.dir); err != nil {
		return nil, err
	}
	if err := p.RunOnce(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// RunOnce renews the certificates that have to be renewed. If a new certificate cannot be written,
// RunOnce returns an error, and the certificate is served nevertheless.
func (p *Provider) RunOnce(ctx context.Context) error {
	renewed, err := p.renew(ctx)
	if renewed {
		p.notify()
	}
	return err
}

// Run renews the certificate in time until the context ends. It has one worker, whatever number is
// given.
func (p *Provider) Run(ctx context.Context, _ int) {
	ticker := p.clock.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if err := p.RunOnce(ctx); err != nil {
				utilruntime.HandleErrorWithContext(ctx, err, "Failed to renew the serving certificate")
			}
		}
	}
}

func (p *Provider) renew(ctx context.Context) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if err := p.ensureAuthority(ctx, now); err != nil {
		return false, err
	}
	reason := p.serving.unfit(p.authority, p.subjects, now)
	if reason == "" {
		return false, nil
	}
	issued, err := p.authority.issue(p.subjects, now)
	if err != nil {
		return false, err
	}
	p.serving = issued
	klog.FromContext(ctx).Info("Made a serving certificate", "reason", reason, "dir", p.dir,
		"names", issued.cert.DNSNames, "notAfter", issued.cert.NotAfter, "renewAt", renewAt(issued.cert))
	return true, issued.save(p.dir)
}

// ensureAuthority makes an authority if there is none, or if it has expired and no certificate that
// it signed is valid.
func (p *Provider) ensureAuthority(ctx context.Context, now time.Time) error {
	if p.authority != nil && now.Before(p.authority.cert.NotAfter) {
		return nil
	}
	if p.authority != nil {
		klog.FromContext(ctx).Error(nil, "The certificate authority has expired and is replaced: the APIService needs the new one as its caBundle",
			"dir", p.dir, "notAfter", p.authority.cert.NotAfter)
	}
	made, err := newAuthority(now)
	if err != nil {
		return err
	}
	if err := made.save(p.dir); err != nil {
		return err
	}
	p.authority = made
	return nil
}

// Name identifies the provider in logs.
func (p *Provider) Name() string {
	return "self-made serving certificate"
}

// CurrentCertKeyContent returns the certificate and its key in PEM.
func (p *Provider) CurrentCertKeyContent() (certPEM, keyPEM []byte) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.serving.certPEM, p.serving.keyPEM
}

// AddListener adds a listener that is called after each change of the certificate.
func (p *Provider) AddListener(listener dynamiccertificates.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = append(p.listeners, listener)
}

func (p *Provider) notify() {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, listener := range p.listeners {
		listener.Enqueue()
	}
}
