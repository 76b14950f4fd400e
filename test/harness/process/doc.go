// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs child processes that do not outlive the program that started them. It also finds free ports, and
// reads how much CPU time and memory a process uses.
package process
