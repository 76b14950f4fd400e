// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaffold writes the folder of a new controller, with a hook in one of several languages and its tests. The folder project has
// one for a type Website; its names are replaced.
package scaffold
