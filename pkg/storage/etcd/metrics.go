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

// Metrics returns a gatherer of the metrics of the embedded etcd, and of the space that it has. etcd
// registers its metrics with Prometheus' default registry. The metrics of the process and of the Go
// runtime in that registry are left out, because the API server has its own.
func (s *Server) Metrics() prometheus.Gatherer {
	own := prometheus.NewRegistry()
	own.MustRegister(newSpaceCollector(s.keeper))
	return prometheus.Gatherers{prometheus.GathererFunc(etcdMetrics), own}
}

func etcdMetrics() ([]*dto.MetricFamily, error) {
	families, err := prometheus.DefaultGatherer.Gather()
	own := families[:0]
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), metricPrefix) {
			own = append(own, family)
		}
	}
	return own, err
}

// spaceCollector measures the space when it is asked.
type spaceCollector struct {
	keeper *keeper

	quota, database, inUse, volume, available, alarm, refused *prometheus.Desc
}

func newSpaceCollector(keeper *keeper) *spaceCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("metacontroller_storage_"+name, help, labels, nil)
	}
	return &spaceCollector{
		keeper:    keeper,
		quota:     desc("quota_bytes", "Size of the database at which writes are refused."),
		database:  desc("database_bytes", "Size of the database that counts against the quota."),
		inUse:     desc("database_in_use_bytes", "Part of the database that is in use. The rest is free for new writes."),
		volume:    desc("volume_bytes", "Size of the volume of the data directory."),
		available: desc("volume_available_bytes", "Free space on the volume of the data directory."),
		alarm:     desc("nospace_alarm", "1 while the alarm NOSPACE of etcd is raised, because the database has reached its quota, otherwise 0."),
		refused: desc("writes_refused", "1 while writes are refused for this reason, otherwise 0: the database has reached its quota, "+
			"or the volume has too little space left.", "reason"),
	}
}

// Describe implements prometheus.Collector.
func (c *spaceCollector) Describe(descs chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, descs)
}

// Collect implements prometheus.Collector.
func (c *spaceCollector) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	k := c.keeper
	gauge(c.quota, float64(k.quota))
	gauge(c.database, float64(k.etcd.Backend().Size()))
	gauge(c.inUse, float64(k.etcd.Backend().SizeInUse()))
	if space, err := measureVolume(k.dataDir); err == nil {
		gauge(c.volume, float64(space.size))
		gauge(c.available, float64(space.available))
	}
	gauge(c.alarm, zeroOrOne(k.alarmed()))
	gauge(c.refused, zeroOrOne(k.gate.full.Load()), "quota")
	gauge(c.refused, zeroOrOne(k.gate.low.Load()), "volume")
}

func zeroOrOne(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
