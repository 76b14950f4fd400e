// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs child processes that do not outlive the program that started them. It also
// finds free ports and reads what a process takes of the machine.
package process
