// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour

	// clockSkew is how much the clocks of clients may be behind ours.
	clockSkew = time.Hour
)

// authority signs our certificates.
type authority struct {
	cert    *x509.Certificate
	certPEM []byte
	key     crypto.Signer
}

// loadAuthority reads the authority in a directory. It returns nil if there is none.
func loadAuthority(dir string) (*authority, error) {
	certPath, keyPath := filepath.Join(dir, authorityCertFile), filepath.Join(dir, authorityKeyFile)
	certPEM, err := readFile(certPath)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	if certPEM == nil {
		// An interrupted start leaves a key alone. No client can have trusted it.
		return nil, nil
	}
	keyPEM, err := readFile(keyPath)
	if err != nil {
		return nil, fmt.Errorf("reading the key of the certificate authority: %w", err)
	}
	if keyPEM == nil {
		return nil, fmt.Errorf("certificate authority %s has lost its key %s: bring the key back, or remove the certificate "+
			"to have a new authority made, whose certificate the APIService then needs as its caBundle", certPath, keyPath)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s and key %s: %w", certPath, keyPath, err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("certificate %s with key %s cannot sign certificates: it is not one of an authority", certPath, keyPath)
	}
	return &authority{cert: pair.Leaf, certPEM: certPEM, key: signer}, nil
}

func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the certificate authority: %w", err)
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
		return nil, fmt.Errorf("making the certificate authority: %w", err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority just made: %w", err)
	}
	return &authority{cert: parsed, certPEM: encodeCert(der), key: key}, nil
}

// save writes the authority. The key comes first, because a certificate without its key is an error
// at the next start.
func (a *authority) save(dir string) error {
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(a.key)
	if err != nil {
		return fmt.Errorf("encoding the key of the certificate authority: %w", err)
	}
	if err := writeFile(filepath.Join(dir, authorityKeyFile), keyPEM, privateMode); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, authorityCertFile), a.certPEM, publicMode)
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}
