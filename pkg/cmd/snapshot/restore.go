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
	command := &cobra.Command{
		Use:   "restore FILE --data-dir=DIRECTORY",
		Short: "Make the storage of a data directory from a snapshot",
		Long: `Makes the storage of a data directory from a snapshot, which may be compressed. No server may use the
directory. If it has a storage, that is renamed and stays. Resource versions go on far above those of the snapshot and
of the storages in the directory, so that clients that watch list again. If the restore is killed, run it again: until
then no server starts.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if dataDir == "" {
				return errors.New("--data-dir is needed: the data directory of the server")
			}
			restored, err := etcd.Restore(args[0], dataDir)
			if err != nil {
				return err
			}
			stderr := command.ErrOrStderr()
			fmt.Fprintf(stderr, "Restored %s in %s. Resource versions go on above %d.\n", args[0], dataDir, restored.Revision)
			if restored.Former != "" {
				fmt.Fprintf(stderr, "The former storage is in %s now. Remove it when it is not needed.\n", restored.Former)
			}
			return nil
		},
	}
	command.Flags().StringVar(&dataDir, "data-dir", "", "The data directory of the server.")
	return command
}
