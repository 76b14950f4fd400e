// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

func newRestore() *cobra.Command {
	var dataDir string
	var replace bool
	command := &cobra.Command{
		Use:   "restore FILE --data-dir=DIRECTORY",
		Short: "Make the storage of a data directory from a snapshot",
		Long: `Makes the storage of a data directory from a snapshot. No server may use the directory. Resource versions go on far above all that any client has seen, so that clients
that watch list again.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if dataDir == "" {
				return errors.New("--data-dir is needed: the data directory of the server")
			}
			revision, err := etcd.Restore(args[0], dataDir, replace)
			if err != nil {
				return err
			}
			fmt.Fprintf(command.ErrOrStderr(), "Restored %s in %s. Resource versions go on above %d.\n", args[0], dataDir, revision)
			return nil
		},
	}
	command.Flags().StringVar(&dataDir, "data-dir", "", "The data directory of the server.")
	command.Flags().BoolVar(&replace, "replace", false, "Delete the storage that the data directory has, once the restored one is whole.")
	return command
}
