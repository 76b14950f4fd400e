// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// SharingMetrics tell how controllers are shared, as this process sees it. They are 0 while it is no
// replica.
type SharingMetrics struct{ replicas, withoutRunner prometheus.Gauge }

// NewSharingMetrics returns metrics that a registry shows.
func NewSharingMetrics(registry prometheus.Registerer) (*SharingMetrics, error) {
	m := &SharingMetrics{
		replicas: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "metacontroller_replicas",
			Help: "Replicas that take controllers, as this one sees it; 0 while it has no Lease itself.",
		}),
		withoutRunner: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "metacontroller_controllers_without_replica",
			Help: "Controllers that no replica runs, as this one sees it.",
		}),
	}
	if err := errors.Join(registry.Register(m.replicas), registry.Register(m.withoutRunner)); err != nil {
		return nil, fmt.Errorf("show metrics of replicas: %w", err)
	}
	return m, nil
}

func (m *SharingMetrics) set(replicas, withoutRunner int) {
	m.replicas.Set(float64(replicas))
	m.withoutRunner.Set(float64(withoutRunner))
}
