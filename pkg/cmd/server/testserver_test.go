// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// testServer is a server inside the test process, with a storage and certificates of its own.
type testServer struct {
	dataDir string
	address string

	stop   context.CancelFunc
	result chan error
}

// serverConfig says what is special about a testServer. The zero value is a standalone one.
type serverConfig struct {
	dataDir  string
	options  func(*Options)
	given    []string // names of flags that are not to be completed
	adjust   func(*apiserver.Config)
	storage  func(storage) storage
	clientCA string // file of the authority whose clients the server knows
}

func newDataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "server-") // shorter than t.TempDir, which has the name of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startEtcd starts an etcd that ends with the test.
func startEtcd(t *testing.T) *etcd.Server {
	t.Helper()
	storage, err := etcd.Start(t.Context(), etcd.Config{DataDir: newDataDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := storage.Close(); err != nil {
			t.Error(err)
		}
	})
	return storage
}

// newEtcdClient returns a client of an etcd that ends with the test.
func newEtcdClient(t *testing.T, storage *etcd.Server) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{storage.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// newTestOptions are completed and valid options of a server that listens on a free port.
func newTestOptions(t *testing.T, config serverConfig) *Options {
	t.Helper()
	options, err := NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	options.Storage.DataDir = config.dataDir
	options.Recommended.Authentication.ClientCert.ClientCA = config.clientCA
	options.Standalone = true
	if config.options != nil {
		config.options(options)
	}
	if err := options.Complete(func(flag string) bool { return slices.Contains(config.given, flag) }); err != nil {
		t.Fatalf("Complete: %v", err)
	}
	if err := options.Validate(); err != nil {
		t.Fatalf("Validate: %v", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	options.Recommended.SecureServing.Listener = listener
	return options
}

// launch starts a server and does not wait for anything.
func launch(t *testing.T, config serverConfig) *testServer {
	t.Helper()
	options := newTestOptions(t, config)
	ctx, stop := context.WithCancel(context.Background())
	server := &testServer{
		dataDir: config.dataDir,
		address: options.Recommended.SecureServing.Listener.Addr().String(),
		stop:    stop,
		result:  make(chan error, 1),
	}
	go func() { server.result <- options.run(ctx, seams{config: config.adjust, storage: config.storage}) }()
	t.Cleanup(func() { _ = server.shutDown(t) })
	return server
}

// start starts a server and returns when it is ready.
func start(t *testing.T, config serverConfig) *testServer {
	t.Helper()
	server := launch(t, config)
	eventually(t, func() error {
		select {
		case err := <-server.result:
			server.result <- err
			t.Fatalf("the server ended: %v", err)
		default:
		}
		if err := holdsCertificate(server.caFile()); err != nil {
			return err
		}
		_, _, err := get(t, server.anonymous(t), server.url("/readyz"), http.StatusOK)
		return err
	})
	return server
}

// holdsCertificate returns an error while a server has not yet written its certificate to a file.
func holdsCertificate(file string) error {
	content, err := os.ReadFile(file)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(content) {
		err = fmt.Errorf("%s holds no certificate", file)
	}
	return err
}

// shutDown tells the server to stop and returns what Run returned.
func (s *testServer) shutDown(t *testing.T) error {
	t.Helper()
	s.stop()
	return s.wait(t)
}

// wait returns what Run returned, once it has; it can be asked again.
func (s *testServer) wait(t *testing.T) error {
	t.Helper()
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	select {
	case err := <-s.result:
		s.result <- err
		return err
	case <-timeout.C:
		t.Error("the server does not stop")
		return nil
	}
}

func (s *testServer) caFile() string { return filepath.Join(s.dataDir, "pki", "serving.crt") }

func (s *testServer) url(path string) string { return "https://" + s.address + path }

// anonymous is a client that does not say who it is.
func (s *testServer) anonymous(t *testing.T) *http.Client { return s.client(t, nil) }

// client is a client that trusts the server's authority and shows a certificate.
func (s *testServer) client(t *testing.T, cert *tls.Certificate) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "metacontroller-apiserver.metacontroller.svc"}
	if !config.RootCAs.AppendCertsFromPEM(readFile(t, s.caFile())) {
		t.Fatalf("%s holds no certificate", s.caFile())
	}
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// clientset is a client of the API that shows a certificate.
func (s *testServer) clientset(t *testing.T, cert *tls.Certificate) versioned.Interface {
	t.Helper()
	client, err := versioned.NewForConfigAndClient(&rest.Config{Host: s.url(""), QPS: -1}, s.client(t, cert))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// get reads a URL. Any answer with another status than the wanted one is an error.
func get(t *testing.T, client *http.Client, url string, status int, headers ...string) (string, http.Header, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("%s answers %s, want %d: %s", url, response.Status, status, body)
	}
	return string(body), response.Header, err
}

// mustGet is get that fails the test.
func mustGet(t *testing.T, client *http.Client, url string, status int, headers ...string) (string, http.Header) {
	t.Helper()
	body, header, err := get(t, client, url, status, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return body, header
}

// clientAuthority signs the certificates of clients.
type clientAuthority struct {
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newClientAuthority(t *testing.T) *clientAuthority {
	t.Helper()
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "clients"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, der := sign(t, template, template, nil)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "clients.crt")
	writeFile(t, file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return &clientAuthority{file: file, cert: cert, key: key}
}

// client is the certificate of a user.
func (a *clientAuthority) client(t *testing.T, name string, groups ...string) *tls.Certificate {
	t.Helper()
	key, der := sign(t, &x509.Certificate{
		Subject:   pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.cert, a.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// admin returns the certificate of a user who may do everything.
func (a *clientAuthority) admin(t *testing.T) *tls.Certificate {
	return a.client(t, "admin", "system:masters")
}

func sign(t *testing.T, template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		t.Fatal(err)
	}
	return key, der
}

func writePair(t *testing.T, cert *tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := keyutil.MarshalPrivateKeyToPEM(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, keyFile, key)
	writeFile(t, certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until check succeeds.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("not within a minute: %v", err)
		case <-tick.C:
		}
	}
}
