// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// KeyPair is a certificate and its key, PEM encoded.
type KeyPair struct {
	Cert, Key []byte
}

// Write writes both to files that only their owner can read.
func (p KeyPair) Write(certPath, keyPath string) error {
	return errors.Join(os.WriteFile(certPath, p.Cert, 0o600), os.WriteFile(keyPath, p.Key, 0o600))
}

// Authority is a certificate authority.
type Authority struct {
	KeyPair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority of that name.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of %s: %w", name, err)
	}
	template := template(pkix.Name{CommonName: name})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	pair, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of %s: %w", name, err)
	}
	return &Authority{KeyPair: pair, cert: template, key: key}, nil
}

// Client issues a certificate that a client shows: its common name is the user, its organizations
// are the groups.
func (a *Authority) Client(user string, groups ...string) (KeyPair, error) {
	template := template(pkix.Name{CommonName: user, Organization: groups})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// Serving issues a certificate for a server on loopback that also goes by the given DNS names and
// address.
func (a *Authority) Serving(serviceIP net.IP, dnsNames ...string) (KeyPair, error) {
	template := template(pkix.Name{CommonName: dnsNames[0]})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = append(dnsNames, "localhost")
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), serviceIP}
	return a.issue(template)
}

func (a *Authority) issue(template *x509.Certificate) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, fmt.Errorf("make the key of %s: %w", template.Subject.CommonName, err)
	}
	pair, err := sign(template, a.cert, key, a.key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("make the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return pair, nil
}

func template(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		Subject:   subject,
		NotBefore: time.Now().Add(-time.Minute),
		NotAfter:  time.Now().AddDate(1, 0, 0),
	}
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (KeyPair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return KeyPair{}, err
	}
	template.SerialNumber = serial
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return KeyPair{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}
