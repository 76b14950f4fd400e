// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

func TestMetricsAreThoseOfEtcdAndOfItsSpace(t *testing.T) {
	server := start(t, Config{DataDir: t.TempDir(), QuotaBytes: 64 << 20})
	families := gather(t, server)
	for name := range families {
		if !strings.HasPrefix(name, "etcd_") && !strings.HasPrefix(name, "metacontroller_storage_") {
			t.Errorf("foreign metric %s", name)
		}
	}
	if families["etcd_mvcc_db_total_size_in_bytes"] == nil {
		t.Error("the size of the database is missing")
	}
	if quota := gauge(families, "metacontroller_storage_quota_bytes"); quota != 64<<20 {
		t.Errorf("quota is %f", quota)
	}
	for _, name := range []string{"database_bytes", "database_in_use_bytes", "volume_bytes", "volume_available_bytes"} {
		if gauge(families, "metacontroller_storage_"+name) <= 0 {
			t.Errorf("metric %s is missing or 0", name)
		}
	}
	if refused := families["metacontroller_storage_writes_refused"]; len(refused.GetMetric()) != 2 {
		t.Errorf("reasons for refusals: %v", refused)
	}
	if families["metacontroller_storage_nospace_alarm"] == nil {
		t.Error("the alarm is missing")
	}
}

func gather(t *testing.T, server *Server) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := server.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, family := range families {
		byName[family.GetName()] = family
	}
	return byName
}

// gauge returns the first series of a metric, and -1 if there is none.
func gauge(families map[string]*dto.MetricFamily, name string) float64 {
	metrics := families[name].GetMetric()
	if len(metrics) == 0 {
		return -1
	}
	return metrics[0].GetGauge().GetValue()
}
