// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-metacontroller is a plugin of kubectl, which runs it as "kubectl metacontroller". It shows what
// controllers do and would do, and helps to write and test hooks.
package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin"
)

func main() {
	os.Exit(plugin.Main(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, os.Args[1:]))
}
