// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

var (
	someNames = []string{"api.system.svc", "localhost"}
	someIPs   = []net.IP{net.IPv4(127, 0, 0, 1)}
)

func TestCertificatesAreMadeForTheNamesAskedFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	provider := newProvider(t, Config{Dir: dir, DNSNames: someNames, IPs: someIPs})
	leaf := current(t, provider)
	roots := authorityOf(t, dir)
	for _, name := range append([]string{"127.0.0.1"}, someNames...) {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("a client that trusts ca.crt does not accept %s: %v", name, err)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "other"}); err == nil {
		t.Error("a client accepts the certificate for a name that nobody asked for")
	}
}

func TestKeysAreForTheirOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	newProvider(t, Config{Dir: dir})
	for path, want := range map[string]fs.FileMode{
		dir:                                  0o700,
		filepath.Join(dir, authorityKeyFile): 0o600,
		filepath.Join(dir, servingKeyFile):   0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s is %o, want %o", path, got, want)
		}
	}
}

func TestWhatARestartKeepsAndWhatItRenews(t *testing.T) {
	const life = servingLife + clockSkew
	tests := map[string]struct {
		between       func(t *testing.T, dir string)
		off           time.Duration
		names         []string
		keepAuthority bool
		keepServing   bool
	}{
		"nothing changed": {
			keepAuthority: true,
			keepServing:   true,
		},
		"shortly before two thirds of the life": {
			off:           life*2/3 - clockSkew - time.Minute,
			keepAuthority: true,
			keepServing:   true,
		},
		"shortly after two thirds of the life": {
			off:           life*2/3 - clockSkew + time.Minute,
			keepAuthority: true,
		},
		"expired while the server was off": {
			off:           2 * life,
			keepAuthority: true,
		},
		"the server got another name": {
			names:         []string{"other.system.svc", "localhost"},
			keepAuthority: true,
		},
		"the server lost a name": {
			names:         []string{"localhost"},
			keepAuthority: true,
		},
		"a crash came between the writes of key and certificate": {
			between: func(t *testing.T, dir string) {
				write(t, filepath.Join(dir, servingKeyFile), read(t, filepath.Join(dir, authorityKeyFile)))
			},
			keepAuthority: true,
		},
		"the serving certificate is no certificate": {
			between: func(t *testing.T, dir string) {
				write(t, filepath.Join(dir, servingCertFile), []byte("half a cert"))
			},
			keepAuthority: true,
		},
		"the authority was taken away to have a new one": {
			between: func(t *testing.T, dir string) {
				if err := os.Remove(filepath.Join(dir, authorityCertFile)); err != nil {
					t.Fatal(err)
				}
			},
		},
		"the authority expired": {
			off: authorityLife + time.Minute,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			clock := clocktesting.NewFakeClock(time.Now())
			config := Config{Dir: dir, DNSNames: someNames, Clock: clock}
			newProvider(t, config)
			authority := read(t, filepath.Join(dir, authorityCertFile))
			serving := read(t, filepath.Join(dir, servingCertFile))

			if test.between != nil {
				test.between(t, dir)
			}
			clock.Step(test.off)
			if test.names != nil {
				config.DNSNames = test.names
			}
			again := newProvider(t, config)

			if kept := bytes.Equal(authority, read(t, filepath.Join(dir, authorityCertFile))); kept != test.keepAuthority {
				t.Errorf("authority kept: %t, want %t", kept, test.keepAuthority)
			}
			if kept := bytes.Equal(serving, read(t, filepath.Join(dir, servingCertFile))); kept != test.keepServing {
				t.Errorf("serving certificate kept: %t, want %t", kept, test.keepServing)
			}
			options := x509.VerifyOptions{Roots: authorityOf(t, dir), DNSName: config.DNSNames[0], CurrentTime: clock.Now()}
			if _, err := current(t, again).Verify(options); err != nil {
				t.Errorf("a client that trusts ca.crt does not accept the certificate: %v", err)
			}
		})
	}
}

func TestDirectoriesThatCannotBeUsedAreErrorsThatSayWhy(t *testing.T) {
	tests := map[string]struct {
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"the key of the authority is lost": {
			prepare: func(t *testing.T, dir string) {
				newProvider(t, Config{Dir: dir})
				if err := os.Remove(filepath.Join(dir, authorityKeyFile)); err != nil {
					t.Fatal(err)
				}
			},
			want: "has lost its key",
		},
		"the key is of another authority": {
			prepare: func(t *testing.T, dir string) {
				newProvider(t, Config{Dir: dir})
				write(t, filepath.Join(dir, authorityKeyFile), read(t, filepath.Join(dir, servingKeyFile)))
			},
			want: "does not match",
		},
		"the authority is none": {
			prepare: func(t *testing.T, dir string) {
				newProvider(t, Config{Dir: dir})
				write(t, filepath.Join(dir, authorityKeyFile), read(t, filepath.Join(dir, servingKeyFile)))
				write(t, filepath.Join(dir, authorityCertFile), read(t, filepath.Join(dir, servingCertFile)))
			},
			want: "not one of an authority",
		},
		"the directory is a file": {
			prepare: func(t *testing.T, dir string) { write(t, dir, nil) },
			want:    "cannot be made",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "pki")
			test.prepare(t, dir)
			_, err := New(t.Context(), Config{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v, want one that says %q and names %s", err, test.want, dir)
			}
		})
	}
}

func TestAnAuthorityThatIsThereAlreadyIsUsed(t *testing.T) {
	theirs := t.TempDir()
	newProvider(t, Config{Dir: theirs})
	dir := t.TempDir()
	for _, file := range []string{authorityCertFile, authorityKeyFile} {
		write(t, filepath.Join(dir, file), read(t, filepath.Join(theirs, file)))
	}
	provider := newProvider(t, Config{Dir: dir, DNSNames: someNames})
	if _, err := current(t, provider).Verify(x509.VerifyOptions{Roots: authorityOf(t, theirs)}); err != nil {
		t.Error(err)
	}
}

func newProvider(t *testing.T, config Config) *Provider {
	t.Helper()
	provider, err := New(t.Context(), config)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return provider
}

func current(t *testing.T, provider *Provider) *x509.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(provider.CurrentCertKeyContent())
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func authorityOf(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(read(t, filepath.Join(dir, authorityCertFile))) {
		t.Fatal("ca.crt holds no certificate")
	}
	return pool
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
