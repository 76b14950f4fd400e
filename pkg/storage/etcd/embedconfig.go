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

	// A single member elects itself when the election timeout has passed after its start. A short
	// timeout makes restarts fast. Long ones are for slow networks between members. The timeout
	// must have at least five ticks. It has no more, because each tick wakes the idle process.
	tickMilliseconds     = 40
	electionMilliseconds = 200

	// progressInterval is how often an idle watch gets the current revision. It keeps the API
	// server's watch cache from asking for a compacted revision.
	progressInterval = 5 * time.Second

	// defragThresholdMegabytes is the free space inside the database file above which it is
	// defragmented at start.
	defragThresholdMegabytes = 100
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
	config.TickMs = tickMilliseconds
	config.ElectionMs = electionMilliseconds
	config.AuthToken = ""
	config.EnableGRPCGateway = false
	config.QuotaBackendBytes = quotaBytes
	config.WatchProgressNotifyInterval = progressInterval
	config.BootstrapDefragThresholdMegabytes = defragThresholdMegabytes
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
