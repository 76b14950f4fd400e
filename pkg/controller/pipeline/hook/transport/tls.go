// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

func (s *settings) resolveAuthorities(find finder, into *credentials) error {
	bundle, field := s.caBundle, s.path+".caBundle"
	if bundle == nil {
		return nil
	}
	switch set := hookaddress.CASources(bundle.Inline, bundle.SecretRef, bundle.ConfigMapRef); {
	case len(set) == 0:
		return fmt.Errorf("%s: none of inline, secretRef and configMapRef is set", field)
	case len(set) > 1:
		return fmt.Errorf("%s: only one of inline, secretRef and configMapRef can be set, not %s", field, strings.Join(set, " and "))
	case bundle.Inline != nil && *bundle.Inline == "":
		return nil
	case bundle.Inline != nil:
		into.roots = x509.NewCertPool()
		if !into.roots.AppendCertsFromPEM([]byte(*bundle.Inline)) {
			return fmt.Errorf("%s.inline: no PEM certificate is in it", field)
		}
		return nil
	case bundle.SecretRef != nil:
		return readAuthorities(find, field+".secretRef", secret, bundle.SecretRef, into)
	default:
		return readAuthorities(find, field+".configMapRef", configMap, bundle.ConfigMapRef, into)
	}
}

func readAuthorities(find finder, field string, kind func(namespace, name string) Source, ref *v1alpha1.ResourceKeyRef, into *credentials) error {
	opened, err := find.open(field, kind(ref.Namespace, ref.Name))
	if err != nil {
		return err
	}
	key := cmp.Or(ref.Key, "ca.crt")
	bundle, err := opened.value(key)
	if err != nil {
		return err
	}
	into.roots = x509.NewCertPool()
	switch {
	case len(bundle) == 0:
		return opened.unusable(fmt.Errorf("key %q is empty", key))
	case !into.roots.AppendCertsFromPEM(bundle):
		return opened.unusable(fmt.Errorf("key %q: no PEM certificate is in it", key))
	}
	return nil
}

func (s *settings) resolveCertificate(find finder, into *credentials) error {
	if s.clientTLS == nil {
		return nil
	}
	ref := s.clientTLS.SecretRef
	opened, err := find.open(s.path+".clientTLS.secretRef", secret(ref.Namespace, ref.Name))
	if err != nil {
		return err
	}
	certificateKey, privateKeyKey := cmp.Or(s.clientTLS.CertKey, "tls.crt"), cmp.Or(s.clientTLS.PrivateKeyKey, "tls.key")
	certificate, err := opened.value(certificateKey)
	if err != nil {
		return err
	}
	privateKey, err := opened.value(privateKeyKey)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, privateKey)
	if err != nil {
		return opened.unusable(fmt.Errorf("keys %q and %q: %w", certificateKey, privateKeyKey, err))
	}
	into.certificates = []tls.Certificate{pair}
	return nil
}
