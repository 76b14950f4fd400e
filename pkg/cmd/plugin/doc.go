// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin is the command kubectl-metacontroller.
//
// It is a thin client: what needs the cluster is answered by the API, with the rights of whoever runs the
// command. Each command has a file of its own, which reads its arguments, asks, and prints. What several of
// them do is in the packages below this one:
//
//   - lookup finds the controllers and parents that arguments and files name;
//   - reviews sends SyncReviews: page after page, and with the answers of a hook on this machine (localhook);
//   - printing shows to people what was answered.
package plugin
