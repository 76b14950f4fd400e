// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"strings"
	"testing"
)

func TestMetricsAreThoseOfEtcdAlone(t *testing.T) {
	start(t, Config{DataDir: t.TempDir()})
	families, err := Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "etcd_") {
			t.Errorf("foreign metric %s", family.GetName())
		}
		found = found || family.GetName() == "etcd_mvcc_db_total_size_in_bytes"
	}
	if !found {
		t.Error("the size of the database is missing")
	}
}
