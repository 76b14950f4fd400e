// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults plays short stories of what users do while something fails, and checks on the host
// that nobody could tell afterwards.
//
// # What is played
//
// A scenario (scenario_*_test.go) is a list of steps, such as creating a parent and scaling it, with a
// hook that is a pure function. A pattern (pattern_test.go, trouble_test.go) is what goes wrong
// meanwhile: the process dies at its n-th write, watches come late or skip states, the host lags, fails
// or loses answers. Each scenario is played with each pattern that can make a difference, on a real
// host. A run has a namespace, a hook and a controller of its own, so that many run at a time.
//
// The controllers of a run are those of pkg/controller. They run in the test's process and reach the
// host through a proxy of their own (package proxy). To die is to be cut off by the proxy: for the
// host that is the same as kill -9, and it takes milliseconds. Suites of test/integration kill real
// processes.
//
// # What is checked
//
//   - After each step the host has what it has without faults: children with their data, owners and
//     finalizers, ControllerRevisions, and the status of parents. The first run of a scenario has no
//     faults and says what that is. What the witness (witness_test.go) leaves out differs from run to
//     run, such as UIDs and times.
//   - On the way nothing happened that came right only later (invariants_test.go): nothing is deleted
//     that the hook wants before and after, nothing is created twice, and nobody else's object is
//     written. This is read in the host's audit log.
//   - No more than maxUnavailable children are down at once (kubelet_test.go). This needs the contents
//     of objects, which the audit log does not have: a watch of the test sees each state of a child.
//   - A fault that lasts can be seen, in an event or in the condition Ready.
//
// # When a run fails
//
// The output says which step did not end or which request was wrong, then the writes of each life of
// the process, its log, what the host has, and the command that plays only this run again. The name
// of a run says what goes wrong: composite/dynamic-apply/crash/n=7/unanswered is the scenario, the
// engine, and the process that dies when the host has stored its 7th write.
//
// make faults DURATION=1h plays random scenarios with several random faults each, and prints the seed
// of the first that fails.
package faults
