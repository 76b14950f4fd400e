// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
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

func newRestore() *cobra.Command {
	var dataDir string
	command := &cobra.Command{
		Use:   "restore FILE --data-dir=DIRECTORY",
		Short: "Restore the storage of a data directory from a snapshot",
		Long: `Restores the storage of a data directory from a snapshot, which may be compressed. No server may use the
directory. If the directory already has a storage, the command renames that storage and keeps it. The resource versions
of the new storage are far above those of the snapshot and of all storages in the directory, so that clients with a
watch list again. If the restore is killed, run it again: no server starts before it is complete.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if dataDir == "" {
				return errors.New("--data-dir is required: the data directory of the server")
			}
			restored, err := etcd.Restore(args[0], dataDir)
			if err != nil {
				return err
			}
			stderr := command.ErrOrStderr()
			fmt.Fprintf(stderr, "Restored %s in %s. Resource versions continue above %d.\n", args[0], dataDir, restored.Revision)
			if restored.Former != "" {
				fmt.Fprintf(stderr, "The previous storage is now in %s. Remove it when you no longer need it.\n", restored.Former)
			}
			return nil
		},
	}
	command.Flags().StringVar(&dataDir, "data-dir", "", "The data directory of the server.")
	return command
}

func newStatus() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "status FILE",
		Short: "Check a snapshot, and show its contents",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("--output=%q: only \"json\" is possible", output)
			}
			info, err := etcd.InspectSnapshot(args[0])
			if err != nil {
				return err
			}
			if output == "json" {
				return json.NewEncoder(command.OutOrStdout()).Encode(info)
			}
			fmt.Fprintf(command.OutOrStdout(), "Revision:  %d\nKeys:      %d\nSize:      %s\nFormat:    etcd %s\n",
				info.Revision, info.Keys, sizeText(info.Size), cmp.Or(info.Version, "(not stored yet)"))
			return nil
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "\"json\", for programs.")
	return command
}

// sizeText returns a size in bytes with a unit, such as "12Mi".
func sizeText(bytes int64) string {
	return resource.NewQuantity(bytes, resource.BinarySI).String()
}
