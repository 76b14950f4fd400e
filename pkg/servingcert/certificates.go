// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour

	// clockSkew bounds how far the clocks of clients may be behind that of the server.
	clockSkew = time.Hour
)

// authority signs our certificates.
type authority struct {
	cert    *x509.Certificate
	certPEM []byte
	key     crypto.Signer
}

func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("creating the key of the certificate authority: %w", err)
	}
	template := &x509.Certificate{
		// The time distinguishes an authority from earlier ones.
		Subject:               pkix.Name{CommonName: fmt.Sprintf("metacontroller-apiserver-ca@%d", now.Unix())},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("creating the certificate authority: %w", err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the new certificate authority: %w", err)
	}
	return &authority{cert: parsed, certPEM: encodeCert(der), key: key}, nil
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}

// servingLife is short because renewing costs nothing. A server that was off for longer renews at
// its start.
const servingLife = 90 * 24 * time.Hour

// subjects are the names and addresses that clients reach the server by.
type subjects struct {
	dnsNames []string
	ips      []net.IP
}

// serving is a certificate with its key.
type serving struct {
	cert    *x509.Certificate
	certPEM []byte
	keyPEM  []byte
}

// issue returns a new serving certificate.
func (a *authority) issue(who subjects, now time.Time) (*serving, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("creating the key of the serving certificate: %w", err)
	}
	notAfter := now.Add(servingLife)
	if notAfter.After(a.cert.NotAfter) {
		notAfter = a.cert.NotAfter
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "metacontroller-apiserver"},
		DNSNames:    who.dnsNames,
		IPAddresses: who.ips,
		NotBefore:   now.Add(-clockSkew),
		NotAfter:    notAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("signing the serving certificate: %w", err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the new serving certificate: %w", err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of the serving certificate: %w", err)
	}
	return &serving{cert: parsed, certPEM: encodeCert(der), keyPEM: keyPEM}, nil
}

// unfit returns why a certificate of several servers has to be replaced, or "" if it need not be. Any of the issuers
// may have signed it, and it may be for more names.
func (s *serving) unfit(issuers []*x509.Certificate, who subjects, now time.Time) string {
	switch {
	case s == nil:
		return "there is none"
	case !slices.ContainsFunc(issuers, s.isBy):
		return "another authority signed it"
	case !s.covers(who):
		return "it is for other names"
	case now.Before(s.cert.NotBefore):
		return "it is not yet valid"
	case now.After(renewAt(s.cert)):
		return "two thirds of its lifetime have passed"
	}
	return ""
}

func (s *serving) isBy(issuer *x509.Certificate) bool {
	return s.cert.CheckSignatureFrom(issuer) == nil
}

func (s *serving) names() subjects {
	return subjects{dnsNames: s.cert.DNSNames, ips: s.cert.IPAddresses}
}

// covers reports whether the certificate is for these names and addresses.
func (s *serving) covers(who subjects) bool { return s.names().set().IsSuperset(who.set()) }

// set returns the names and addresses as text.
func (who subjects) set() sets.Set[string] {
	all := sets.New(who.dnsNames...)
	for _, ip := range who.ips {
		all.Insert(ip.String())
	}
	return all
}
