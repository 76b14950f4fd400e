// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report is the last stage of the pipeline: it reports the result of a sync to users. The caller has
// evaluated the Outcomes.
//
// Events writes Kubernetes events about parents and controller objects to the host. Status computes the status of a
// controller object, with its conditions, from a Health and a Problem. It is pure; package lifecycle writes the status.
// This package contains the texts of events and conditions, except for the texts of errors and of rollouts.
package report
