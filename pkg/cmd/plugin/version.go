// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/metacontroller/metacontroller-apiserver/pkg/version"
)

// newVersion returns the command that prints the version of this program.
func newVersion(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this command", GroupID: groupOther, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(streams.Out, "kubectl-metacontroller", version.Get())
			return err
		},
	}
}
