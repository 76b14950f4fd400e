// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/registration"
	"github.com/metacontroller/metacontroller-apiserver/pkg/servingcert"
)

// CertificateOptions name the Service that the server makes a certificate for, and the Secret that keeps it.
type CertificateOptions struct {
	// ServiceName and ServiceNamespace name the Service that the APIService at the host refers to.
	ServiceName      string
	ServiceNamespace string
	// Secret is the name of the Secret in ServiceNamespace that keeps the certificate; if it is empty, the certificate
	// is in the files of SecureServingOptions.
	Secret string
}

// NewCertificateOptions returns the defaults: the Service of our manifests.
func NewCertificateOptions() *CertificateOptions {
	return &CertificateOptions{ServiceName: "metacontroller-apiserver", ServiceNamespace: "metacontroller"}
}

func (o *CertificateOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ServiceName, "service-name", o.ServiceName, "The name of the Service through which the cluster "+
		"reaches this server, as in its APIService. The certificate that the server creates for itself is valid for this "+
		"Service and localhost.")
	flags.StringVar(&o.Secret, "certificate-secret", o.Secret, "The name of a Secret in the namespace of "+
		"--service-namespace. The server creates an authority and a certificate, stores both in this Secret, where "+
		"replicas share them, renews them, and updates the caBundle of the APIService. Without this flag, the server "+
		"stores a self-signed certificate in --cert-dir, and does not change the caBundle.")
	flags.StringVar(&o.ServiceNamespace, "service-namespace", o.ServiceNamespace,
		"The namespace of the Service of --service-name.")
}

func (o *CertificateOptions) validate() []error {
	var errs []error
	if reasons := validation.IsDNS1035Label(o.ServiceName); len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("--service-name %q: %s", o.ServiceName, strings.Join(reasons, ", ")))
	}
	if reasons := validation.IsDNS1123Label(o.ServiceNamespace); len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("--service-namespace %q: %s", o.ServiceNamespace, strings.Join(reasons, ", ")))
	}
	if reasons := validation.IsDNS1123Subdomain(o.Secret); o.Secret != "" && len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("--certificate-secret %q: %s", o.Secret, strings.Join(reasons, ", ")))
	}
	return errs
}

// names returns the DNS names of the Service, and localhost for trying the server out on its own
// machine.
func (o *CertificateOptions) names() []string {
	service := o.ServiceName + "." + o.ServiceNamespace
	return []string{o.ServiceName, service, service + ".svc", service + ".svc.cluster.local", "localhost"}
}

// ensure creates a certificate unless the flags name one. kubeconfig is the kubeconfig of the host, in which a Secret
// holds the certificate.
func (o *CertificateOptions) ensure(serving *genericoptions.SecureServingOptions, kubeconfig string) error {
	if serving.ServerCert.CertKey.CertFile != "" {
		return nil
	}
	if o.Secret != "" {
		provider, err := o.inSecret(kubeconfig)
		if err != nil {
			return fmt.Errorf("creating a serving certificate: %w", err)
		}
		serving.ServerCert.GeneratedCert = provider
		return nil
	}
	names := o.names()
	if err := serving.MaybeDefaultWithSelfSignedCerts(names[0], names[1:], loopbackIPs()); err != nil {
		return fmt.Errorf("creating a serving certificate: %w", err)
	}
	return nil
}

func loopbackIPs() []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback} }

// inSecret returns the certificate that is kept in a Secret of the host.
func (o *CertificateOptions) inSecret(kubeconfig string) (*servingcert.SecretProvider, error) {
	config, err := hostConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = 0 // the provider has its own, and watches have none
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return servingcert.NewSecretProvider(servingcert.SecretConfig{
		Namespace: o.ServiceNamespace, Name: o.Secret, APIService: apiServiceName, Service: o.ServiceName,
		DNSNames: o.names(), IPs: loopbackIPs(), // replicas bind different addresses
		Kube: kube, Dynamic: objects,
	})
}

// registration returns the APIService and the Service by which the host sends requests to this server.
func (o *CertificateOptions) registration() registration.Config {
	return registration.Config{APIService: apiServiceName, Namespace: o.ServiceNamespace, Service: o.ServiceName}
}

// apiServiceName is the name of the APIService by which the host finds this server.
const apiServiceName = "v1alpha1." + v1alpha1.GroupName

// validateServing makes the checks that the library does not make.
func (o *CertificateOptions) validateServing(serving *genericoptions.SecureServingOptions) []error {
	var errs []error
	if o.Secret != "" && serving.ServerCert.CertKey.CertFile != "" {
		errs = append(errs, errors.New("--certificate-secret and --tls-cert-file cannot be used together"))
	}
	if (serving.ServerCert.CertKey.CertFile == "") != (serving.ServerCert.CertKey.KeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file must be given together"))
	}
	switch serving.MinTLSVersion {
	case "VersionTLS10", "VersionTLS11":
		errs = append(errs, fmt.Errorf("--tls-min-version %s is not secure; the lowest is VersionTLS12",
			serving.MinTLSVersion))
	}
	return errs
}
