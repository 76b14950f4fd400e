// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "Usage: monitoring FOLDER")
		os.Exit(2)
	}
	used, err := usedIn(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "monitoring:", err)
		os.Exit(1)
	}
	for _, metric := range slices.Sorted(maps.Keys(used)) {
		labels := slices.Sorted(maps.Keys(used[metric]))
		fmt.Println(strings.Join(append([]string{metric}, labels...), " "))
	}
}

// usedIn returns the metrics that the alerts and the dashboard in a folder use, with the labels that they ask of each.
func usedIn(folder string) (map[string]map[string]struct{}, error) {
	alerts, err := readAlerts(folder)
	if err != nil {
		return nil, err
	}
	queries, err := readDashboard(folder)
	if err != nil {
		return nil, err
	}
	for _, one := range alerts {
		queries = append(queries, query{name: one.Alert, expr: one.Expr, shown: one.Annotations["summary"] + one.Annotations["description"]})
	}
	used := map[string]map[string]struct{}{}
	for _, one := range queries {
		if err := one.addTo(used); err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return used, nil
}
