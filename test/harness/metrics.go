// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics reads the server's /metrics, by the name of the family.
func (e *Env) Metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	body, err := e.GetAsAdministrator(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return families, nil
}

// Series returns the series of a family that have labels, given as name and value in turn.
func Series(family *dto.MetricFamily, labels ...string) []*dto.Metric {
	var found []*dto.Metric
	for _, series := range family.GetMetric() {
		if hasLabels(series, labels) {
			found = append(found, series)
		}
	}
	return found
}

func hasLabels(series *dto.Metric, labels []string) bool {
	of := map[string]string{}
	for _, label := range series.GetLabel() {
		of[label.GetName()] = label.GetValue()
	}
	for i := 0; i+1 < len(labels); i += 2 {
		if of[labels[i]] != labels[i+1] {
			return false
		}
	}
	return true
}
