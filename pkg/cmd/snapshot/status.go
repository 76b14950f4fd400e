// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

func newStatus() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "status FILE",
		Short: "Check a snapshot, and show what it has",
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
