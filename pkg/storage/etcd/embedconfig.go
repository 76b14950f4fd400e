// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

const (
	// memberName and peerAddress are part of the stored membership, so they never change. Nobody listens at the
	// address: a single member has no peers. It is a number, as a name would be looked up.
	memberName  = "metacontroller"
	peerAddress = "127.0.0.1:2380"

	// A single member elects itself once an election timeout has passed since its start, so a short one makes restarts
	// fast; the reason for long ones, slow networks between members, does not exist here. There have to be five ticks in
	// it, and not more: each wakes the process, also when there is nothing to do.
	tickMilliseconds     = 40
	electionMilliseconds = 200

	// progressInterval is how often an idle watch is told the current revision. It keeps the API server's watch cache
	// from asking for what was compacted.
	progressInterval = 5 * time.Second

	// defragThresholdMegabytes is how much must be free inside the database file for it to be rewritten at start.
	defragThresholdMegabytes = 100
)

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
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newLogger(newLogBridge(s.logger, &s.closing), s.reportFatal))
	return config
}

// reportFatal keeps the first fatal error; later ones are its consequences.
func (s *Server) reportFatal(err error) {
	select {
	case s.fatal <- err:
	default:
	}
}
