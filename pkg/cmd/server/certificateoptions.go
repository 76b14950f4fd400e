// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/metacontroller/metacontroller-apiserver/pkg/servingcert"
)

// CertificateOptions hold the names for the certificate that the server makes for itself.
type CertificateOptions struct {
	// ServiceName and ServiceNamespace name the Service that the APIService at the host refers to.
	ServiceName      string
	ServiceNamespace string
}

// NewCertificateOptions returns the defaults: the Service of our manifests.
func NewCertificateOptions() *CertificateOptions {
	return &CertificateOptions{ServiceName: "metacontroller-apiserver", ServiceNamespace: "metacontroller"}
}

func (o *CertificateOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ServiceName, "service-name", o.ServiceName, "The name of the Service through which the cluster "+
		"reaches this server, as in its APIService. The certificate that the server makes for itself is for this Service and localhost.")
	flags.StringVar(&o.ServiceNamespace, "service-namespace", o.ServiceNamespace, "The namespace of the Service of --service-name.")
}

func (o *CertificateOptions) validate() []error {
	var errs []error
	if reasons := validation.IsDNS1035Label(o.ServiceName); len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("--service-name %q: %s", o.ServiceName, strings.Join(reasons, ", ")))
	}
	if reasons := validation.IsDNS1123Label(o.ServiceNamespace); len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("--service-namespace %q: %s", o.ServiceNamespace, strings.Join(reasons, ", ")))
	}
	return errs
}

// names returns the DNS names of the Service, and localhost for trying the server out on its own
// machine.
func (o *CertificateOptions) names() []string {
	service := o.ServiceName + "." + o.ServiceNamespace
	return []string{o.ServiceName, service, service + ".svc", service + ".svc.cluster.local", "localhost"}
}

func (o *CertificateOptions) ips(bindAddress net.IP) []net.IP {
	ips := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	if bindAddress != nil && !bindAddress.IsUnspecified() && !bindAddress.IsLoopback() {
		ips = append(ips, bindAddress)
	}
	return ips
}

// ensure makes a certificate unless the flags give one.
func (o *CertificateOptions) ensure(ctx context.Context, serving *genericoptions.SecureServingOptions) error {
	if serving.ServerCert.CertKey.CertFile != "" {
		return nil
	}
	provider, err := servingcert.New(ctx, servingcert.Config{
		Dir:      serving.ServerCert.CertDirectory,
		DNSNames: o.names(),
		IPs:      o.ips(serving.BindAddress),
	})
	if err != nil {
		return fmt.Errorf("making a serving certificate: %w", err)
	}
	serving.ServerCert.GeneratedCert = provider
	return nil
}

// validateServing checks what the library does not check.
func validateServing(serving *genericoptions.SecureServingOptions) []error {
	var errs []error
	if (serving.ServerCert.CertKey.CertFile == "") != (serving.ServerCert.CertKey.KeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file must be given together"))
	}
	switch serving.MinTLSVersion {
	case "VersionTLS10", "VersionTLS11":
		errs = append(errs, fmt.Errorf("--tls-min-version %s is not secure; the lowest is VersionTLS12", serving.MinTLSVersion))
	}
	return errs
}
