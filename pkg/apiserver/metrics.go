// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // rest_client_* and workqueue_*
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
)

const metricsPath = "/metrics"

// installMetrics serves further metrics beside those of the generic server. The server's own
// handler serves only its registry.
func installMetrics(mux *mux.PathRecorderMux, further ...prometheus.Gatherer) {
	mux.Unregister(metricsPath)
	all := append(prometheus.Gatherers{legacyregistry.DefaultGatherer}, further...)
	mux.Handle(metricsPath, promhttp.HandlerFor(all, promhttp.HandlerOpts{ProcessStartTime: legacyregistry.GetProcessStart()}))
}
