// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
	"github.com/metacontroller/metacontroller-apiserver/pkg/version"
)

// Run runs a server until the context ends. The options must be complete and valid. The storage starts before
// everything else and stops after it. Run also returns nil if the context ended during the start.
func (o *Options) Run(ctx context.Context) error {
	err := o.run(ctx, seams{})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// storage has the resources that must stay open as long as the server runs.
type storage interface {
	// Err delivers the reason if the storage ends by itself.
	Err() <-chan error
	Close() error
}

// seams let tests change a run. Each may be nil.
type seams struct {
	config  func(*apiserver.Config)
	storage func(storage) storage
}

func (o *Options) run(ctx context.Context, seams seams) (err error) {
	klog.FromContext(ctx).Info("Starting", "version", version.Get().String())

	limitMemory(ctx)
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var embedded *etcd.Server
	if o.embedded() {
		var startErr error
		embedded, startErr = etcd.Start(ctx, etcd.Config{DataDir: o.Storage.DataDir, QuotaBytes: o.Storage.QuotaBytes})
		if startErr != nil {
			return startErr
		}
		var kept storage = embedded
		if seams.storage != nil {
			kept = seams.storage(embedded)
		}
		closeStorage := keepStorage(kept, stop)
		defer func() { err = errors.Join(err, closeStorage()) }()
	} else {
		klog.FromContext(ctx).Info("Storing objects in an external etcd", "servers", o.etcdServers(""))
	}
	config, err := o.config(serving, embedded)
	if err != nil {
		return err
	}
	serveSnapshots(config, embedded)
	if seams.config != nil {
		seams.config(config)
	}
	completed, err := config.Complete()
	if err != nil {
		return err
	}
	server, err := completed.New()
	if err != nil {
		return o.nameEtcd(err)
	}
	closePlain, err := o.PlainHTTP.listen(serving, server.GenericAPIServer.Handler.NonGoRestfulMux)
	if err != nil {
		return err
	}
	defer closePlain()
	klog.FromContext(ctx).Info("Serving", "address", config.GenericConfig.SecureServing.Listener.Addr().String())
	defer context.AfterFunc(serving, func() { klog.FromContext(ctx).Info("Stopping") })()
	return server.Run(serving)
}

// keepStorage stops the server if its storage fails. It returns the function that closes the
// storage after the server has stopped. That function returns the error of the storage, if it
// failed.
func keepStorage(kept storage, stopServer context.CancelCauseFunc) func() error {
	closing := make(chan struct{})
	var failure error
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case failure = <-kept.Err():
			stopServer(failure)
		case <-closing:
		}
	})
	return func() error {
		close(closing)
		watching.Wait()
		return errors.Join(failure, kept.Close())
	}
}

// limitMemory sets the memory limit of Go's runtime to nine tenths of the limit of the cgroup. Go then collects garbage
// more often before the kernel would end the process. The environment variable GOMEMLIMIT takes precedence.
func limitMemory(ctx context.Context) {
	logger := klog.FromContext(ctx)
	switch limit, err := memlimit.Set(memlimit.WithRatio(0.9)); {
	case err != nil:
		logger.V(2).Info("Go's memory is not limited, because the limit of the cgroup cannot be read", "err", err)
	case limit < math.MaxInt64:
		logger.Info("Limited Go's memory", "bytes", limit)
	}
}
