// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"google.golang.org/grpc"
)

const (
	// memberName and peerAddress are part of the stored membership and must never change. There is
	// no listener at the address, since a single member has no peers. It is an IP address because a
	// name would be looked up.
	memberName  = "metacontroller"
	peerAddress = "127.0.0.1:2380"

	// A single member is told to elect itself (elect), so the timeout of elections does not matter. It must
	// have at least five ticks. Ticks are long, because each wakes the idle process.
	tickMilliseconds     = 2000
	electionMilliseconds = 10_000

	// commitInterval is how often writes are committed to the database. Until then they are in the log, and a
	// crash loses none of them.
	commitInterval = time.Second

	// progressInterval is how often an idle watch gets the current revision. It keeps the API
	// server's watch cache from asking for a compacted revision.
	progressInterval = 5 * time.Second

	// segmentBytes is the size of a segment of the write-ahead log. One is allocated in advance. An
	// eighth of etcd's default makes the log an eighth as large, and so leaves more of a small
	// volume to objects.
	segmentBytes = 8 << 20
	// maxSegments is how many segments the keeper keeps, beside those that etcd needs.
	maxSegments = 4

	// snapshotCount is the number of writes after which etcd takes a snapshot, and no longer needs
	// the segments before. With writes of the maximum size of 1.5 MiB that is after 150 MiB. etcd's
	// default, 10,000 writes, is for members that have to catch up.
	snapshotCount = 100
	// catchUpEntries is how many writes etcd keeps in memory for other members. There are none.
	catchUpEntries = 100
)

// etcdConfig returns the configuration of a single member without peers, which listens at the unix
// socket.
func (s *Server) etcdConfig(dir string, gate *gate) *embed.Config {
	useSegmentSize()
	client := s.socket.url()

	config := embed.NewConfig()
	config.Name = memberName
	config.Dir = dir
	config.ListenClientUrls = []url.URL{client}
	config.AdvertiseClientUrls = []url.URL{client}
	config.ListenPeerUrls = nil
	config.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: peerAddress}}
	config.InitialCluster = config.InitialClusterFromName(memberName)
	config.TickMs = tickMilliseconds
	config.ElectionMs = electionMilliseconds
	config.BackendBatchInterval = commitInterval
	config.AuthToken = ""
	config.EnableGRPCGateway = false
	config.QuotaBackendBytes = gate.sizing.quota
	config.MaxWalFiles = 0 // the keeper removes old ones
	config.SnapshotCount = snapshotCount
	config.SnapshotCatchUpEntries = catchUpEntries
	config.WatchProgressNotifyInterval = progressInterval
	config.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainUnaryInterceptor(gate.intercept)}
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newLogger(s.logger, &s.closing, s.reportFatal))
	return config
}

// useSegmentSize sets the size of segments. It is a variable of the library, which all etcds of a process set to
// the same value.
func useSegmentSize() {
	if wal.SegmentSizeBytes != segmentBytes {
		wal.SegmentSizeBytes = segmentBytes
	}
}

// reportFatal keeps the first fatal error. Later ones are its consequences.
func (s *Server) reportFatal(err error) {
	select {
	case s.fatal <- err:
	default:
	}
}
