// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

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
