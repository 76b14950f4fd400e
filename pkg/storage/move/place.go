// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// Place is where objects are stored: a data directory, or the servers of an etcd.
type Place struct {
	DataDir string
	Servers []string
	// TLS is how the servers are trusted, and who we are to them.
	TLS *tls.Config
}

func (p Place) String() string {
	if p.DataDir != "" {
		return p.DataDir
	}
	return strings.Join(p.Servers, ",")
}

// dialTimeout bounds how long servers are waited for.
const dialTimeout = 5 * time.Second

// storage is a place that is open. It reads and writes only keys with the prefix, so its user of the etcd needs no right to others.
type storage struct {
	*clientv3.Client
	place  Place
	prefix string
	// mark is the value of the mark of this move, if it is to here.
	mark string
	// finish has servers start with the data directory that was moved to.
	finish func() error
	close  func() error
}

// open opens a place that has a storage, and answers.
func (p Place) open(ctx context.Context, prefix string) (*storage, error) {
	if p.DataDir == "" {
		return p.dial(ctx, prefix, p.Servers, func() error { return nil })
	}
	if !etcd.HasStorage(p.DataDir) { // etcd would make one
		return nil, fmt.Errorf("data directory %s has no storage", p.DataDir)
	}
	server, err := etcd.Start(ctx, etcd.Config{DataDir: p.DataDir})
	if err != nil {
		return nil, err
	}
	return p.dial(ctx, prefix, []string{server.Endpoint()}, server.Close)
}

// receive opens a place that objects are to be moved to. A storage that is made for them has revisions above another
// one.
func (p Place) receive(ctx context.Context, prefix string, above int64) (*storage, error) {
	if p.DataDir == "" {
		return p.open(ctx, prefix)
	}
	arrival, err := etcd.Receive(ctx, p.DataDir, above)
	if err != nil {
		return nil, err
	}
	opened, err := p.dial(ctx, prefix, []string{arrival.Endpoint()}, arrival.Close)
	if err != nil {
		return nil, err
	}
	opened.finish = arrival.Finish
	return opened, nil
}

func (p Place) dial(ctx context.Context, prefix string, endpoints []string, stop func() error) (*storage, error) {
	config := clientv3.Config{Endpoints: endpoints, TLS: p.TLS, DialTimeout: dialTimeout, Context: ctx, Logger: zap.NewNop()}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reach %s: %w", p, err), stop())
	}
	opened := &storage{
		Client: client, place: p, prefix: prefix,
		finish: func() error { return nil },
		close:  func() error { return errors.Join(client.Close(), stop()) },
	}
	if _, err := opened.revision(ctx); err != nil {
		return nil, errors.Join(err, opened.close())
	}
	return opened, nil
}

// revision returns the present revision.
func (s *storage) revision(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	answer, err := s.Get(ctx, s.prefix, clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("reach %s: %w", s.place, s.explain(err))
	}
	return answer.Header.GetRevision(), nil
}
