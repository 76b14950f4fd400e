// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// The data of the Secret. The keys of the serving certificate are the same as in Secrets of type kubernetes.io/tls.
const (
	// authoritiesKey has the authority that signs first, and after it those that are still trusted.
	authoritiesKey  = "ca.crt"
	authorityKeyKey = "ca.key"
)

// sinceAnnotation says when the authorities of the Secret changed, or the first of them began to sign.
const sinceAnnotation = "metacontroller.k8s.io/authority-since"

// content is the content of the Secret, which a server serves. It is never changed.
type content struct {
	// authority signs serving certificates.
	authority *authority
	// since is the time at which it came, or began to sign.
	since time.Time
	// former are authorities that signed before and are still trusted.
	former []*x509.Certificate
	// serving is signed by the authority.
	serving *serving
}

// parseContent reads the content of a Secret. It leaves out a serving certificate that cannot be used, because the
// server can create a new one. Without the authority of the certificate, the content is an error.
func parseContent(secret *corev1.Secret) (*content, error) {
	authorities, err := cert.ParseCertsPEM(secret.Data[authoritiesKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", authoritiesKey, err)
	}
	certPEM := encodeCert(authorities[0].Raw)
	pair, err := tls.X509KeyPair(certPEM, secret.Data[authorityKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", authoritiesKey, authorityKeyKey, err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !authorities[0].IsCA {
		return nil, errors.New(authoritiesKey + " is not the certificate of an authority")
	}
	read := &content{authority: &authority{cert: authorities[0], certPEM: certPEM, key: signer}, former: authorities[1:]}
	if read.since, err = time.Parse(time.RFC3339, secret.Annotations[sinceAnnotation]); err != nil {
		read.since = authorities[0].NotBefore.Add(clockSkew)
	}
	certPEM, keyPEM := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	if pair, err := tls.X509KeyPair(certPEM, keyPEM); err == nil {
		read.serving = &serving{cert: pair.Leaf, certPEM: certPEM, keyPEM: keyPEM}
	}
	return read, nil
}

// fill writes the content into a Secret.
func (c *content) fill(secret *corev1.Secret) error {
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(c.authority.key)
	if err != nil {
		return fmt.Errorf("encoding the key of the certificate authority: %w", err)
	}
	secret.Data = map[string][]byte{
		authoritiesKey:          encodeCerts(c.authorities()),
		authorityKeyKey:         keyPEM,
		corev1.TLSCertKey:       c.serving.certPEM,
		corev1.TLSPrivateKeyKey: c.serving.keyPEM,
	}
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Annotations[sinceAnnotation] = c.since.UTC().Format(time.RFC3339)
	return nil
}

// authorities returns all authorities that are trusted.
func (c *content) authorities() []*x509.Certificate {
	return append([]*x509.Certificate{c.authority.cert}, c.former...)
}

// equals reports whether a Secret with one content need not be written to have the other.
func (c *content) equals(other *content) bool {
	return other != nil && slices.EqualFunc(c.authorities(), other.authorities(), (*x509.Certificate).Equal) &&
		other.serving != nil && bytes.Equal(c.serving.certPEM, other.serving.certPEM) && c.since.Equal(other.since)
}

func encodeCerts(certs []*x509.Certificate) []byte {
	var all []byte
	for _, cert := range certs {
		all = append(all, encodeCert(cert.Raw)...)
	}
	return all
}
