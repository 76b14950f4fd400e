// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// Every metric that the alerts and the dashboard use is shown by a server with a controller, with every label that
// they ask of it.
func TestMonitoringUsesOnlyWhatTheServerShows(t *testing.T) {
	server := hook.Serve(t, hook.Answering(t, func(asked hook.CompositeRequest) harness.Object {
		return harness.Object{"status": harness.Object{}, "children": []harness.Object{hook.ConfigMap(asked.Parent.GetName(), harness.Object{})}}
	}))
	f := harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, server)
	f.RunComposite(f.CompositeSpec())
	f.CreateParent("a", harness.Object{})
	used := usedByMonitoring(t)
	if len(used) < 20 {
		t.Fatalf("only %d metrics are used: %v", len(used), used)
	}
	env.Eventually(t, func(ctx context.Context) error {
		families, err := env.Metrics(ctx)
		if err != nil {
			return err
		}
		for metric, labels := range used {
			if !isShown(families, metric, labels) {
				return fmt.Errorf("the server does not show %s with the labels %v", metric, labels)
			}
		}
		return nil
	})
}

// usedByMonitoring returns the metrics that the alerts and the dashboard use, with the labels that they ask of each.
func usedByMonitoring(t *testing.T) map[string][]string {
	t.Helper()
	root := hostcluster.RepositoryRoot()
	command := exec.CommandContext(t.Context(), "go", "run", ".", filepath.Join(root, "artifacts", "monitoring"))
	command.Dir = filepath.Join(root, "hack", "monitoring")
	printed, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string][]string{}
	for line := range strings.Lines(string(printed)) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "up": // is made by Prometheus
		case "kube_cronjob_created", "kube_cronjob_status_last_successful_time": // are of kube-state-metrics
		case "metacontroller_serving_authority_expiration_timestamp_seconds": // needs the flag --certificate-secret
		default:
			used[fields[0]] = slices.DeleteFunc(fields[1:], func(label string) bool { return label == "job" || label == "pod" })
		}
	}
	return used
}

// isShown reports whether there is a series of a metric with all the labels.
func isShown(families map[string]*dto.MetricFamily, metric string, labels []string) bool {
	family := families[metric]
	if base, suffix, isPart := cutHistogram(metric); family == nil && isPart {
		family = families[base]
		if family.GetType() != dto.MetricType_HISTOGRAM || suffix != "_bucket" && slices.Contains(labels, "le") {
			return false
		}
		labels = slices.DeleteFunc(slices.Clone(labels), func(label string) bool { return label == "le" })
	}
	return slices.ContainsFunc(family.GetMetric(), func(series *dto.Metric) bool {
		for _, label := range labels {
			if !slices.ContainsFunc(series.GetLabel(), func(pair *dto.LabelPair) bool { return pair.GetName() == label }) {
				return false
			}
		}
		return true
	})
}

func cutHistogram(metric string) (base, suffix string, isPart bool) {
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if base, isPart := strings.CutSuffix(metric, suffix); isPart {
			return base, suffix, true
		}
	}
	return metric, "", false
}
