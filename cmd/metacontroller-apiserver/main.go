// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command metacontroller-apiserver adds CompositeControllers and DecoratorControllers to a Kubernetes cluster. It
// serves their API through the cluster's aggregation layer, and runs the controllers that they define.
package main

import (
	"fmt"
	"os"

	// The image contains no root certificates. The server needs them for hooks outside the cluster.
	_ "golang.org/x/crypto/x509roots/fallback"
	"k8s.io/component-base/cli"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/migrate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/server"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/snapshot"
)

func main() {
	command, err := server.NewCommand()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	command.AddCommand(snapshot.NewCommand(), migrate.NewCommand())
	os.Exit(cli.Run(command))
}
