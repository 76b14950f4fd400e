// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hostcluster

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

// keyPair is a certificate and its key, PEM encoded.
type keyPair struct {
	cert, key []byte
}

func (p keyPair) write(certPath, keyPath string) error {
	return errors.Join(os.WriteFile(certPath, p.cert, 0o600), os.WriteFile(keyPath, p.key, 0o600))
}

// authority is a certificate authority that lives as long as one host cluster.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	keyPair
}

func newAuthority(name string) (*authority, error) {
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
	return &authority{cert: template, key: key, keyPair: pair}, nil
}

// client issues a certificate that a client shows: its common name is the user, its organizations are the groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	template := template(pkix.Name{CommonName: user, Organization: groups})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// serving issues a certificate for a server on loopback that also goes by the given DNS names and address.
func (a *authority) serving(serviceIP net.IP, dnsNames ...string) (keyPair, error) {
	template := template(pkix.Name{CommonName: dnsNames[0]})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = append(dnsNames, "localhost")
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), serviceIP}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("make the key of %s: %w", template.Subject.CommonName, err)
	}
	pair, err := sign(template, a.cert, key, a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("make the certificate of %s: %w", template.Subject.CommonName, err)
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

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (keyPair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return keyPair{}, err
	}
	template.SerialNumber = serial
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return keyPair{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}
