// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregation

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

const (
	startTimeout = 2 * time.Minute // it takes a few seconds on an idle machine
	portAttempts = 5
	// StopTimeout is how long the server may take to stop its controllers, end its requests and
	// close its storage.
	StopTimeout = 30 * time.Second
)

// Config says how to run a server and where to register it.
type Config struct {
	Binary      string
	DataDir     string
	Kubeconfig  string       // the server's own access to the cluster
	Registrar   *rest.Config // may register APIs, read them and list controllers
	BindAddress string
	Port        int // 0: a free one
	// ExternalName is the name or IPv4 address under which kube-apiserver reaches BindAddress.
	ExternalName string
	Args         []string // further flags
	Environment  []string // further variables, as "name=value"
	LogPath      string   // empty: our own standard error
}

// Server is a metacontroller-apiserver that runs as a child process and serves its API through a
// cluster.
type Server struct {
	Config
	Registration Registration // as of the last start
	process      *process.Process
}

// Start runs a server, registers its API and returns when the cluster serves it. On an error no
// process is left.
func Start(ctx context.Context, config Config) (*Server, error) {
	s := &Server{Config: config}
	for attempt := 1; ; attempt++ {
		if config.Port == 0 {
			var err error
			if s.Port, err = process.FreePort(); err != nil {
				return nil, err
			}
		}
		err := s.Start(ctx)
		if err == nil {
			return s, nil
		}
		// Somebody else may have taken a free port before the server did.
		clash := config.Port == 0 && strings.Contains(err.Error(), "address already in use")
		if !clash || attempt == portAttempts {
			return nil, err
		}
	}
}

// Start starts the server again, after Kill or Stop, with what Config says by now.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not served within %s", startTimeout))
	defer cancel()
	if err := ensureNamespace(ctx, s.Registrar); err != nil {
		return err
	}
	if err := s.startProcess(); err != nil {
		return err
	}
	if err := s.join(ctx); err != nil {
		return errors.Join(fmt.Errorf("start metacontroller-apiserver: %w", err), s.process.Kill())
	}
	return nil
}

func (s *Server) startProcess() (err error) {
	args := append([]string{
		"--data-dir=" + s.DataDir,
		"--kubeconfig=" + s.Kubeconfig,
		"--bind-address=" + s.BindAddress,
		"--secure-port=" + strconv.Itoa(s.Port),
		"--service-namespace=" + Namespace,
		"--service-name=" + ServiceName,
	}, s.Args...)
	cmd := exec.Command(s.Binary, args...)
	// How the tests collect garbage is not how a server in a cluster does.
	cmd.Env = append(slices.DeleteFunc(cmd.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GOGC=")
	}), s.Environment...)
	s.process, err = process.Start("metacontroller-apiserver", s.LogPath, cmd)
	return err
}

func (s *Server) join(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	whileRunning := func(check func(context.Context) error) error {
		return poll.Until(ctx, func(ctx context.Context) error {
			if err := s.process.Exited(); err != nil {
				cancel(err)
				return err
			}
			return check(ctx)
		})
	}
	if err := whileRunning(s.ready); err != nil {
		return err
	}
	ca, err := os.ReadFile(s.caPath())
	if err != nil {
		return fmt.Errorf("read the server's authority: %w", err)
	}
	s.Registration = Registration{ExternalName: s.ExternalName, Port: s.Port, CABundle: ca}
	if err := s.Registration.Apply(ctx, s.Registrar); err != nil {
		return err
	}
	return whileRunning(func(ctx context.Context) error {
		err := Served(ctx, s.Registrar)
		if errors.Is(err, errNameRefused) && !s.Registration.ByEndpoint && isAddress(s.ExternalName) {
			s.Registration.ByEndpoint = true
			return errors.Join(err, s.Registration.Apply(ctx, s.Registrar))
		}
		return err
	})
}

func isAddress(name string) bool {
	ip := net.ParseIP(name)
	return ip != nil && !ip.IsLoopback() // no endpoint can be on loopback
}

// ready returns nil when the server itself says that it is ready.
func (s *Server) ready(ctx context.Context) error {
	body, err := s.Get(ctx, "/readyz?verbose")
	if err != nil {
		return fmt.Errorf("waiting until metacontroller-apiserver is ready: %w: %s", err, body)
	}
	return nil
}

// Get reads a path from the server directly, not through the cluster, as an anonymous user. An
// answer other than 200 is an error; the body is returned all the same.
func (s *Server) Get(ctx context.Context, path string) (string, error) {
	return s.GetAs(ctx, nil, path)
}

// GetAs is Get as a user who shows a certificate.
func (s *Server) GetAs(ctx context.Context, certificate *tls.Certificate, path string) (string, error) {
	ca, err := os.ReadFile(s.caPath())
	if err != nil {
		return "", fmt.Errorf("read the server's authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return "", fmt.Errorf("%s holds no certificate", s.caPath())
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: ServiceName + "." + Namespace + ".svc"}}
	if certificate != nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{*certificate}
	}
	defer transport.CloseIdleConnections()

	host := s.BindAddress
	if net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	url := "https://" + net.JoinHostPort(host, strconv.Itoa(s.Port)) + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("read the answer of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return string(body), fmt.Errorf("%s answers %s", url, response.Status)
	}
	return string(body), nil
}

func (s *Server) caPath() string { return CAPath(s.DataDir) }

// CAPath is where a server with this data directory keeps the authority of its certificate.
func CAPath(dataDir string) string { return filepath.Join(dataDir, "pki", "serving.crt") }

// PID is the server's process id.
func (s *Server) PID() int { return s.process.PID() }

// Done is closed once the server process has ended; it is another one after a new start.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Exited returns nil while the server runs, else an error that says how it ended.
func (s *Server) Exited() error { return s.process.Exited() }

// Kill ends the server at once, as a power cut would (SIGKILL). The registration stays.
func (s *Server) Kill() error { return s.process.Kill() }

// Stop asks the server to end (SIGTERM) and waits; nil means that it did so in time and without an
// error. The registration stays.
func (s *Server) Stop() error { return s.process.Stop(StopTimeout) }
