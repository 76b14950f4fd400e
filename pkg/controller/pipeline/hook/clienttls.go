// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"cmp"
	"crypto/tls"
	"fmt"
)

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
