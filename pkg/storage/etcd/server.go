// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/raft/v3/raftpb"
	"k8s.io/klog/v2"
)

const (
	// readyTimeout bounds the start: reading the database and the log back, and electing the one
	// member leader. A start with a database of 600 MiB takes two seconds, so the timeout is not there
	// to be reached.
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

	// QuotaBytes is the size of the database from which on writes are refused. 0 means that it
	// follows the volume of the data directory: the database, a second copy of it and the log fit
	// in there.
	QuotaBytes int64
}

// Server is an embedded etcd that is ready to serve.
type Server struct {
	logger klog.Logger
	lock   *directoryLock
	socket *clientSocket
	etcd   *embed.Etcd
	keeper *keeper

	// closing is true once Close was called. The end of etcd is no failure then, and is not logged
	// as one.
	closing  atomic.Bool
	fatal    chan error
	failures chan error
	stopped  chan struct{}
	watching sync.WaitGroup
	// stopKeeping ends the keeper, if it was started, and waits for it.
	stopKeeping func()
	close       func() error
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

		stopKeeping: func() {},
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
		return fmt.Errorf("data directory %s cannot be made: %w", dataDir, err)
	}
	var err error
	if s.lock, err = lockDirectory(dataDir); err != nil {
		return err
	}
	if err := settleRestore(s.logger, dataDir); err != nil {
		return err
	}
	if err := refuseMoved(dataDir); err != nil {
		return err
	}
	etcdDir := storageOf(dataDir)
	if err := makePrivate(etcdDir); err != nil {
		return err
	}
	if err := removeLeftovers(s.logger, etcdDir); err != nil {
		return err
	}
	if err := removeUnborn(s.logger, etcdDir); err != nil {
		return err
	}
	gate := s.divide(dataDir, quotaBytes)
	if err := makeRoom(s.logger, gate); err != nil {
		return err
	}
	if err := s.lock.writeHolder(); err != nil {
		return err
	}
	if s.socket, err = newClientSocket(etcdDir); err != nil {
		return err
	}
	began := time.Now()
	ready, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %s; "+
		"its log says why, another etcd may have opened %s", readyTimeout, etcdDir))
	defer cancel()
	s.keeper = &keeper{
		logger: s.logger, dataDir: dataDir, logDir: filepath.Join(etcdDir, "member", "wal"),
		quota: gate.sizing.quota, gate: gate, reserve: gate.reserve, snapshots: newOpenSnapshots(gate.wakeKeeper),
	}
	gate.refusal = s.keeper.message
	if s.etcd, err = s.launch(ready, s.etcdConfig(etcdDir, gate)); err != nil {
		return err
	}
	if err := s.awaitReady(ready); err != nil {
		return err
	}
	s.watching.Go(func() { s.watchForFailure(dataDir) })
	s.keep(ctx)
	s.logger.Info("Storing objects in the embedded etcd", "dataDir", dataDir, "quota", bytesText(gate.sizing.quota))
	s.logger.V(2).Info("Embedded etcd is ready", "endpoint", s.Endpoint(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// keep tends the space once, so that a full storage that can be mended takes writes after the start,
// and then until the server closes.
func (s *Server) keep(ctx context.Context) {
	s.keeper.etcd = s.etcd.Server
	s.keeper.tend(ctx, true)
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { s.keeper.run(keeping) })
	s.stopKeeping = func() {
		stop()
		running.Wait()
	}
}

// makePrivate creates a directory that only its owner can enter. A process that can enter it can
// read and write the storage.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data directory cannot be written: %w", err)
	}
	// It may exist with more rights: Kubernetes gives the group rights to a volume with an fsGroup.
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("directory of etcd cannot be made private: %w", err)
	}
	return nil
}

// launch starts etcd in a goroutine of its own, so that only that goroutine ends where etcd would
// end the process. If it returns an etcd beside an error, the etcd must be closed, too.
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

// electPeriod is how often the member is told to elect itself until it is ready. It cannot while it reads its
// log back.
const electPeriod = 10 * time.Millisecond

func (s *Server) awaitReady(ctx context.Context) error {
	ticker := time.NewTicker(electPeriod)
	defer ticker.Stop()
	for {
		s.elect(ctx)
		select {
		case <-s.etcd.Server.ReadyNotify():
			return nil
		case err := <-s.fatal:
			return err
		case err := <-s.etcd.Err():
			return err
		case <-s.etcd.Server.StopNotify():
			return errors.New("it stopped before it was ready; its log says why")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// elect tells the member to elect itself, which it would do by itself when the timeout of elections has passed. It
// does nothing to a leader.
func (s *Server) elect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, electPeriod)
	defer cancel()
	self := uint64(s.etcd.Server.MemberID())
	message := &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), From: &self, To: &self}
	if err := s.etcd.Server.Process(ctx, message); err != nil {
		s.logger.V(4).Info("The member was not told to elect itself", "err", err)
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
		err = errors.New("it stopped by itself; its log says why")
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

// Err delivers at most one error: the reason why etcd ended before Close. The server must be closed
// then, and nothing that it serves can be relied on.
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
		closeEtcd := func() {
			s.stopKeeping() // it may be waiting for etcd, or etcd for it
			s.finishStart()
			s.etcd.Close()
		}
		if err := closeWithin(closeTimeout, closeEtcd); err != nil {
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

// finishStart waits until etcd is ready, unless it cannot become so. Closing etcd waits for that too, but the member elects itself
// within milliseconds only if it is told to.
func (s *Server) finishStart() {
	select {
	case <-s.etcd.Server.ReadyNotify():
	default:
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := s.awaitReady(ctx); err != nil {
			s.logger.V(2).Info("Embedded etcd ends before it was ready", "err", err)
		}
	}
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
