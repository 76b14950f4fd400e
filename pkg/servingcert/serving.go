// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/keyutil"
)

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

// loadServing reads the serving certificate in a directory. It returns nil if there is none, or
// none that can be used: a new one is made then.
func loadServing(dir string) (*serving, error) {
	certPEM, certErr := readFile(filepath.Join(dir, servingCertFile))
	keyPEM, keyErr := readFile(filepath.Join(dir, servingKeyFile))
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, nil
	}
	return &serving{cert: pair.Leaf, certPEM: certPEM, keyPEM: keyPEM}, nil
}

// issue returns a new serving certificate.
func (a *authority) issue(who subjects, now time.Time) (*serving, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the serving certificate: %w", err)
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
		return nil, fmt.Errorf("reading the serving certificate just made: %w", err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of the serving certificate: %w", err)
	}
	return &serving{cert: parsed, certPEM: encodeCert(der), keyPEM: keyPEM}, nil
}

// unfit returns why a certificate has to be replaced, or "" if it need not be.
func (s *serving) unfit(issuer *authority, who subjects, now time.Time) string {
	switch {
	case s == nil:
		return "there is none"
	case s.cert.CheckSignatureFrom(issuer.cert) != nil:
		return "another authority signed it"
	case !s.covers(who):
		return "it is for other names"
	case now.After(renewAt(s.cert)):
		return "two thirds of its life are over"
	}
	return ""
}

// covers reports whether the certificate is for exactly these names and addresses.
func (s *serving) covers(who subjects) bool {
	return sets.New(s.cert.DNSNames...).Equal(sets.New(who.dnsNames...)) &&
		ipStrings(s.cert.IPAddresses).Equal(ipStrings(who.ips))
}

func (s *serving) save(dir string) error {
	return errors.Join(
		writeFile(filepath.Join(dir, servingKeyFile), s.keyPEM, privateMode),
		writeFile(filepath.Join(dir, servingCertFile), s.certPEM, publicMode),
	)
}

func ipStrings(ips []net.IP) sets.Set[string] {
	names := sets.New[string]()
	for _, ip := range ips {
		names.Insert(ip.String())
	}
	return names
}
