// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

const folder = "../../artifacts/monitoring"

// Each alert has series of an hour for which it fires at the end, and others for which it does not.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	const of = `controller_type="CompositeController",controller_name="webs"`
	tests := map[string]struct{ fires, quiet string }{
		"MetacontrollerDown": {
			fires: `up{job="metacontroller-apiserver"} 0x60`,
			quiet: `up{job="metacontroller-apiserver"} 1x60`,
		},
		"MetacontrollerNoLeader": {
			fires: `leader_election_master_status{job="metacontroller-apiserver",name="metacontroller",pod="a"} 0x60
				leader_election_master_status{job="metacontroller-apiserver",name="metacontroller",pod="b"} 0x60`,
			quiet: `leader_election_master_status{job="metacontroller-apiserver",name="metacontroller",pod="a"} 0x60
				leader_election_master_status{job="metacontroller-apiserver",name="metacontroller",pod="b"} 1x60`,
		},
		"MetacontrollerStorageNearQuota": {
			fires: `etcd_mvcc_db_total_size_in_bytes{job="metacontroller-apiserver"} 90x60
				etcd_server_quota_backend_bytes{job="metacontroller-apiserver"} 100x60`,
			quiet: `etcd_mvcc_db_total_size_in_bytes{job="metacontroller-apiserver"} 70x60
				etcd_server_quota_backend_bytes{job="metacontroller-apiserver"} 100x60
				etcd_mvcc_db_total_size_in_bytes{job="etcd"} 90x60
				etcd_server_quota_backend_bytes{job="etcd"} 100x60`,
		},
		"MetacontrollerWritesFail": {
			fires: `apiserver_request_total{job="metacontroller-apiserver",pod="a",verb="PUT",code="500"} 0+1x60`,
			quiet: `apiserver_request_total{job="metacontroller-apiserver",pod="a",verb="PUT",code="500"} 7x60
				apiserver_request_total{job="metacontroller-apiserver",pod="a",verb="PUT",code="409"} 0+1x60`,
		},
		"MetacontrollerSnapshotsFail": { // 100,000 s are more than a day
			fires: `kube_cronjob_created{cronjob="metacontroller-apiserver-snapshots"} -100000x60
				kube_cronjob_status_last_successful_time{cronjob="another"} 0x60`,
			quiet: `kube_cronjob_created{cronjob="metacontroller-apiserver-snapshots"} -100000x60
				kube_cronjob_status_last_successful_time{cronjob="metacontroller-apiserver-snapshots"} 0x60`,
		},
		"MetacontrollerCertificateNearEnd": {
			fires: `metacontroller_serving_certificate_expiration_timestamp_seconds{pod="a"} 0x60`,
			quiet: `metacontroller_serving_certificate_expiration_timestamp_seconds{pod="a"} 2592000x60`, // 30 days after 1970
		},
		"MetacontrollerAuthorityNearEnd": {
			fires: `metacontroller_serving_authority_expiration_timestamp_seconds{pod="a"} 2592000x60`,
			quiet: `metacontroller_serving_authority_expiration_timestamp_seconds{pod="a"} 31536000x60`,
		},
		"MetacontrollerControllerNotReady": {
			fires: `metacontroller_controller_ready{` + of + `} 0x60`,
			quiet: `metacontroller_controller_ready{` + of + `} 1x60`,
		},
		"MetacontrollerControllerRefused": {
			fires: `controller_runtime_reconcile_errors_total{controller="composite-metacontroller"} 0+1x60`,
			quiet: `controller_runtime_reconcile_errors_total{controller="composite-metacontroller"} 7x60`,
		},
		"MetacontrollerParentsFailing": {
			fires: `metacontroller_parents{` + of + `,state="failing"} 2x60`,
			quiet: `metacontroller_parents{` + of + `,state="failing"} 0x60
				metacontroller_parents{` + of + `,state="synced"} 9x60`,
		},
		"MetacontrollerHookDown": {
			fires: `metacontroller_hook_down{` + of + `,hook="sync"} 1x60`,
			quiet: `metacontroller_hook_down{` + of + `,hook="sync"} 0x60`,
		},
		"MetacontrollerWriteLoop": {
			fires: `metacontroller_write_loops{` + of + `} 1x60`,
			quiet: `metacontroller_write_loops{` + of + `} 0x60`,
		},
		"MetacontrollerQueueSlow": {
			fires: `workqueue_queue_duration_seconds_bucket{controller="CompositeController-webs",le="100"} 0x60
				workqueue_queue_duration_seconds_bucket{controller="CompositeController-webs",le="1000"} 0+9x60
				workqueue_queue_duration_seconds_bucket{controller="CompositeController-webs",le="+Inf"} 0+9x60`,
			quiet: `workqueue_queue_duration_seconds_bucket{controller="CompositeController-webs",le="1"} 0+9x60
				workqueue_queue_duration_seconds_bucket{controller="CompositeController-webs",le="1000"} 0+9x60
				workqueue_queue_duration_seconds_bucket{controller="CompositeController-webs",le="+Inf"} 0+9x60`,
		},
		"MetacontrollerSyncStuck": {
			fires: `workqueue_longest_running_processor_seconds{controller="CompositeController-webs"} 0+60x60`,
			quiet: `workqueue_longest_running_processor_seconds{controller="CompositeController-webs"} 3x60
				workqueue_longest_running_processor_seconds{controller="another-queue"} 0+60x60`,
		},
	}
	alerts, err := readAlerts(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range alerts {
		t.Run(alert.Alert, func(t *testing.T) {
			test, isTested := tests[alert.Alert]
			if !isTested {
				t.Fatal("the alert has no test")
			}
			if !holds(t, alert.Expr, test.fires) {
				t.Error("it does not fire when it should")
			}
			if holds(t, alert.Expr, test.quiet) {
				t.Error("it fires when all is well")
			}
		})
	}
	if len(alerts) != len(tests) {
		t.Errorf("there are %d alerts, and tests of %d", len(alerts), len(tests))
	}
}

// holds reports whether an expression has a result after an hour of series, which have a sample a minute.
func holds(t *testing.T, expr, series string) bool {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n  "+series)
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	query, err := engine.NewInstantQuery(t.Context(), storage, nil, expr, time.Unix(3600, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	vector, ok := result.Value.(promql.Vector)
	if !ok {
		t.Fatalf("the result is a %T", result.Value)
	}
	return len(vector) > 0
}

// docs/monitoring.md is what the runbook of each alert leads to.
func TestEachAlertIsExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := readAlerts(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range alerts {
		if !strings.Contains(string(page), "| `"+alert.Alert+"` |") {
			t.Errorf("the page does not explain %s", alert.Alert)
		}
		if alert.Annotations["summary"] == "" || alert.Annotations["description"] == "" || alert.Annotations["runbook_url"] == "" || alert.Labels["severity"] == "" {
			t.Errorf("%s lacks a summary, a description, a runbook or a severity: %+v", alert.Alert, alert)
		}
	}
}

func TestExpressionsThatCannotBeReadAreErrors(t *testing.T) {
	err := query{expr: "sum by ("}.addTo(map[string]map[string]struct{}{})
	if err == nil {
		t.Error("half an expression is read")
	}
}
