// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// alert is an alerting rule.
type alert struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// readAlerts returns the rules of the PrometheusRule in a folder.
func readAlerts(folder string) ([]alert, error) {
	content, err := os.Open(filepath.Join(folder, "alerts.yaml"))
	if err != nil {
		return nil, err
	}
	defer content.Close()
	var file struct {
		APIVersion string         `yaml:"apiVersion"`
		Kind       string         `yaml:"kind"`
		Metadata   map[string]any `yaml:"metadata"`
		Spec       struct {
			Groups []struct {
				Name  string  `yaml:"name"`
				Rules []alert `yaml:"rules"`
			} `yaml:"groups"`
		} `yaml:"spec"`
	}
	decoder := yaml.NewDecoder(content)
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("alerts.yaml: %w", err)
	}
	var alerts []alert
	for _, group := range file.Spec.Groups {
		alerts = append(alerts, group.Rules...)
	}
	return alerts, nil
}

// readDashboard returns the queries of the dashboard in a folder, as Prometheus gets them from Grafana.
func readDashboard(folder string) ([]query, error) {
	content, err := os.ReadFile(filepath.Join(folder, "dashboard.json"))
	if err != nil {
		return nil, err
	}
	var file struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr         string `json:"expr"`
				LegendFormat string `json:"legendFormat"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("dashboard.json: %w", err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$type", ".*", "$controller", ".*")
	var queries []query
	for _, panel := range file.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, query{name: panel.Title, expr: variables.Replace(target.Expr), shown: target.LegendFormat})
		}
	}
	return queries, nil
}
