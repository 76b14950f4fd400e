// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command monitoring reads the alerts and the dashboard in artifacts/monitoring, and prints each metric that they use
// with the labels that they ask of it: one line for each, "metric label label". Its tests check the alerts.
package main
