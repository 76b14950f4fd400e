// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// metricPrefix starts the name of every metric that etcd's server registers for itself.
const metricPrefix = "etcd_"

// Metrics gathers the metrics of the embedded etcd. etcd registers them with Prometheus' default registry, which also
// holds those of the process and the Go runtime; these are left out, because the API server has its own.
func Metrics() prometheus.Gatherer {
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
