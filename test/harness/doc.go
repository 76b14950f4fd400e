// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness gives a test package a real cluster: a host control plane, and
// metacontroller-apiserver as a process of its own that is joined to it through the aggregation layer.
//
//	var env *harness.Env
//
//	func TestMain(m *testing.M) {
//		os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
//	}
//
// All tests of the package share the Env, so each takes names of its own: see Env.Namespace, Env.Install
// and Name. Env holds clients of an administrator and waits for what tests expect: events, controllers,
// ConfigMaps, metrics, requests in the host's audit log. Fixture adds one controller with its hook and
// its parents.
//
// Packages below it:
//
//   - hook serves webhooks whose answers the test decides.
//   - scenario is for tests that are written as manifests.
//   - manual is for tests that follow the documentation.
//   - transcript is for tests that are written as commands and what they print.
//   - aggregation runs and registers the server; hostcluster runs the control plane; node
//     does the work of a node.
//   - process, poll and pki run child processes, wait for conditions and make certificates.
//   - cmd/attach and cmd/hostcluster are the programs behind make run and make host.
package harness
