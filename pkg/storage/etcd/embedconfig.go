// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

const (
	// memberName and peerAddress are part of the stored membership and must never change. There is
	// no listener at the address, since a single member has no peers. It is an IP address because a
	// name would be looked up.
	memberName  = "metacontroller"
	peerAddress = "127.0.0.1:2380"

	// electionMilliseconds is half of etcd's default: a single member waits for it at each start, and has no peers to
	// hear from.
	electionMilliseconds = 500

	// progressInterval is how often an idle watch gets the current revision. It keeps the API
	// server's watch cache from asking for a compacted revision.
	progressInterval = 5 * time.Second

	// maxSegments is how many segments of the log, of 64 MB each, are kept beside those that etcd needs.
	maxSegments = 2
	// snapshotCount is the number of writes after which etcd no longer needs the segments before. With writes of the
	// maximum size of 1.5 MiB that is after 150 MiB. etcd's default, 10,000 writes, is for members that have to catch
	// up.
	snapshotCount = 100
	// catchUpEntries is how many writes etcd keeps in memory for other members. There are none.
	catchUpEntries = 100

	// defragmentMegabytes is how much a defragmentation at the start must free at least.
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
