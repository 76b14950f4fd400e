// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"github.com/spf13/cobra"
)

// NewCommand returns the command with its subcommands.
func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "snapshot",
		Short: "Save, show and restore snapshots of the storage",
		Long: `Saves, shows and restores snapshots of the storage inside the process. A server with --etcd-servers has none:
back up its etcd with etcdctl.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
		// These commands have no flags of the server.
		PersistentPreRun: func(*cobra.Command, []string) {},
		SilenceUsage:     true,
	}
	plain := &cobra.Command{}
	command.SetUsageFunc(plain.UsageFunc())
	command.SetHelpFunc(plain.HelpFunc())
	command.SetFlagErrorFunc(plain.FlagErrorFunc())
	command.AddCommand(newSave(), newStatus(), newRestore())
	return command
}
