// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"strings"
	"testing"
)

func TestMetricsAreThoseOfEtcd(t *testing.T) {
	server := start(t, Config{DataDir: t.TempDir(), QuotaBytes: 64 * mebi})
	families, err := server.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "etcd_") {
			t.Errorf("foreign metric %s", family.GetName())
		}
		values[family.GetName()] = family.GetMetric()[0].GetGauge().GetValue()
	}
	if quota := values["etcd_server_quota_backend_bytes"]; quota != 64*mebi {
		t.Errorf("quota is %f", quota)
	}
	for _, name := range []string{"etcd_mvcc_db_total_size_in_bytes", "etcd_mvcc_db_total_size_in_use_in_bytes"} {
		if values[name] <= 0 {
			t.Errorf("metric %s is missing or 0", name)
		}
	}
}
