// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

const (
	// readyTimeout bounds the start, which may have to defragment the database.
	readyTimeout = 5 * time.Minute
	// closeTimeout bounds the end. Acknowledged writes are on disk already, so giving up loses
	// nothing.
	closeTimeout = 10 * time.Second
)

// Config is the configuration of an embedded etcd.
type Config struct {
	// DataDir is the data directory, which no other process may use. It is created with mode 0700
	// if it is missing. The file "lock" in it shows which process uses it, the directory "etcd" in
	// it holds the data.
	DataDir string

	// QuotaBytes is the size of the database at which etcd refuses writes. 0 is etcd's default, 2 GiB.
	QuotaBytes int64
}

// Server is an embedded etcd that is ready to serve.
type Server struct {
	logger klog.Logger
	lock   *directoryLock
	socket *clientSocket
	etcd   *embed.Etcd

	// closing is true after Close was called. Then the exit of etcd is expected, and is not logged as a failure.
	closing  atomic.Bool
	fatal    chan error
	failures chan error
	stopped  chan struct{}
	watching sync.WaitGroup
	close    func() error
}

// Start starts an etcd and returns when it serves. The context bounds only the start: a started
// server runs until Close. If another process uses the data directory, Start returns a *LockedError
// at once.
func Start(ctx context.Context, config Config) (*Server, error) {
	dataDir, err := filepath.Abs(config.DataDir)
	if err != nil {
		return nil, fmt.Errorf("data directory %q: %w", config.DataDir, err)
	}
	s := &Server{
		logger:   klog.FromContext(ctx).WithName("etcd"),
		fatal:    make(chan error, 1),
		failures: make(chan error, 1),
		stopped:  make(chan struct{}),
	}
	s.close = sync.OnceValue(s.shutDown)

	if err := s.start(ctx, dataDir, config.QuotaBytes); err != nil {
		err = fmt.Errorf("starting the embedded etcd in %s: %w", dataDir, explain(err, dataDir))
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, dataDir string, quotaBytes int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fmt.Errorf("cannot create data directory %s: %w", dataDir, err)
	}
	var err error
	if s.lock, err = lockDirectory(dataDir); err != nil {
		return err
	}
	if err := refuseUnfinishedRestore(dataDir); err != nil {
		return err
	}
	etcdDir := storageOf(dataDir)
	if err := prepareStorage(s.logger, etcdDir); err != nil {
		return err
	}
	if err := s.lock.writeHolder(); err != nil {
		return err
	}
	if s.socket, err = newClientSocket(etcdDir); err != nil {
		return err
	}
	s.warnOfQuota(dataDir, quotaBytes)
	began := time.Now()
	ready, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %s: see its log; another "+
		"etcd may have opened %s", readyTimeout, etcdDir))
	defer cancel()
	if s.etcd, err = s.launch(ready, s.etcdConfig(etcdDir, quotaBytes)); err != nil {
		return err
	}
	if err := s.awaitReady(ready); err != nil {
		return err
	}
	if err := finishFirstStart(etcdDir); err != nil {
		return err
	}
	if err := s.leaveNoSpaceAlarm(ready); err != nil {
		s.logger.Error(err, "Storage accepts only deletions, because it has reached its quota")
	}
	s.watching.Go(func() { s.watchForFailure(dataDir) })
	s.logger.Info("Storing objects in the embedded etcd", "dataDir", dataDir)
	s.logger.V(2).Info("Embedded etcd is ready",
		"endpoint", s.Endpoint(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// launch starts etcd in a goroutine of its own so that only that goroutine ends where etcd would end the process. If it
// returns both an etcd and an error, the caller must close the etcd.
func (s *Server) launch(ctx context.Context, config *embed.Config) (*embed.Etcd, error) {
	type outcome struct {
		etcd *embed.Etcd
		err  error
	}
	launched := make(chan outcome, 1)
	go func() {
		defer func() {
			if reason := recover(); reason != nil {
				launched <- outcome{err: fmt.Errorf("etcd panicked: %v", reason)}
			}
		}()
		etcd, err := embed.StartEtcd(config)
		launched <- outcome{etcd: etcd, err: err}
	}()
	select {
	case result := <-launched:
		return result.etcd, result.err
	case err := <-s.fatal:
		return nil, err
	case <-ctx.Done():
		// Opening the database cannot be interrupted. It seldom takes long.
		patience := time.NewTimer(closeTimeout)
		defer patience.Stop()
		select {
		case result := <-launched:
			return result.etcd, context.Cause(ctx)
		case <-patience.C:
			return nil, context.Cause(ctx)
		}
	}
}

func (s *Server) awaitReady(ctx context.Context) error {
	select {
	case <-s.etcd.Server.ReadyNotify():
		return nil
	case err := <-s.fatal:
		return err
	case err := <-s.etcd.Err():
		return err
	case <-s.etcd.Server.StopNotify():
		return errors.New("it stopped before it was ready: see its log")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watchForFailure waits until etcd ends by itself, in any way, and delivers the reason.
func (s *Server) watchForFailure(dataDir string) {
	var err error
	select {
	case <-s.stopped:
		return
	case err = <-s.fatal:
	case err = <-s.etcd.Err():
	case <-s.etcd.Server.StopNotify():
		err = errors.New("it stopped by itself: see its log")
	}
	if !s.closing.Load() {
		s.failures <- fmt.Errorf("the embedded etcd failed: %w", explain(err, dataDir))
	}
}

// Endpoint returns the URL of etcd, for clients in this process and other processes of its user.
func (s *Server) Endpoint() string {
	url := s.socket.url()
	return url.String()
}

// connect returns a client, which the caller closes.
func (s *Server) connect() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop()})
}

// Err delivers at most one error: the reason why etcd ended before Close. The caller must then close the server, and
// must not rely on anything that it serves.
func (s *Server) Err() <-chan error {
	return s.failures
}

// Close stops etcd and unlocks its data directory. It returns within seconds. If etcd did not stop,
// it returns an error, and the directory stays locked until the process ends. Further calls do
// nothing.
func (s *Server) Close() error {
	return s.close()
}

func (s *Server) shutDown() error {
	s.closing.Store(true)
	close(s.stopped)
	if s.etcd != nil {
		if err := closeWithin(closeTimeout, s.etcd.Close); err != nil {
			return err
		}
	}
	s.watching.Wait()
	var errs []error
	if s.socket != nil {
		errs = append(errs, s.socket.remove())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	return errors.Join(errs...)
}

func closeWithin(timeout time.Duration, closeEtcd func()) error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		closeEtcd()
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-closed:
		return nil
	case <-timer.C:
		return fmt.Errorf("the embedded etcd did not stop within %s", timeout)
	}
}

const (
	// memberName and peerAddress are part of the stored membership and must never change. There is no listener at the
	// address, because a single member has no peers. It is an IP address because a name would be looked up.
	memberName  = "metacontroller"
	peerAddress = "127.0.0.1:2380"

	// electionMilliseconds is half of etcd's default: a single member waits for it at each start, and has no peers to
	// hear from.
	electionMilliseconds = 500

	// progressInterval is the interval at which an idle watch gets the current revision. It keeps the API server's
	// watch cache from asking for a compacted revision.
	progressInterval = 5 * time.Second

	// maxSegments is the number of segments of the log, of 64 MB each, that are kept in addition to those that etcd
	// needs.
	maxSegments = 2
	// snapshotCount is the number of writes after which etcd no longer needs the segments before. With writes of the
	// maximum size of 1.5 MiB that is after 150 MiB. etcd's default, 10,000 writes, is for members that have to catch
	// up.
	snapshotCount = 100
	// catchUpEntries is the number of writes that etcd keeps in memory for other members. There are none.
	catchUpEntries = 100

	// defragmentMegabytes is the least that a defragmentation at the start must free.
	defragmentMegabytes = 100
)

// etcdConfig returns the configuration of a single member without peers, which listens at the unix
// socket.
func (s *Server) etcdConfig(dir string, quotaBytes int64) *embed.Config {
	client := s.socket.url()

	config := embed.NewConfig()
	config.Name = memberName
	config.Dir = dir
	config.ListenClientUrls = []url.URL{client}
	config.AdvertiseClientUrls = []url.URL{client}
	config.ListenPeerUrls = nil
	config.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: peerAddress}}
	config.InitialCluster = config.InitialClusterFromName(memberName)
	config.ElectionMs = electionMilliseconds
	config.AuthToken = ""
	config.EnableGRPCGateway = false
	config.QuotaBackendBytes = quotaBytes
	config.BootstrapDefragThresholdMegabytes = defragmentMegabytes
	config.MaxWalFiles = maxSegments
	config.SnapshotCount = snapshotCount
	config.SnapshotCatchUpEntries = catchUpEntries
	config.WatchProgressNotifyInterval = progressInterval
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newLogger(s.logger, &s.closing, s.reportFatal))
	return config
}

// reportFatal keeps the first fatal error. Later ones are its consequences.
func (s *Server) reportFatal(err error) {
	select {
	case s.fatal <- err:
	default:
	}
}

// metricPrefix is the prefix of the names of etcd's metrics.
const metricPrefix = "etcd_"

// Metrics returns a gatherer of the metrics of the embedded etcd. etcd registers its metrics with Prometheus' default
// registry. The metrics of the process and of the Go runtime in that registry are left out, because the API server has
// its own.
func (s *Server) Metrics() prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := prometheus.DefaultGatherer.Gather()
		own := families[:0]
		for _, family := range families {
			if strings.HasPrefix(family.GetName(), metricPrefix) {
				own = append(own, family)
			}
		}
		return own, err
	})
}
