// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/metacontroller/metacontroller-apiserver/pkg/migration/helmvalues"
)

// newValuesCommand returns the command that converts values of Metacontroller's chart. It asks no cluster.
func newValuesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "values [FILE]",
		Short: "Convert values of Metacontroller's chart to those of the server's chart",
		Long: `Reads values of Metacontroller's chart from a file, or from standard input, and writes those of the server's chart.
What has no meaning there is listed in comments.`,
		Example: "  helm -n metacontroller get values metacontroller -o yaml | metacontroller-apiserver migrate values >values.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			values, err := readFile(command.InOrStdin(), args)
			if err != nil {
				return err
			}
			converted, err := helmvalues.Convert(values)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(command.OutOrStdout(), string(converted))
			return err
		},
	}
}

// readFile reads the named file, or in if none is named.
func readFile(in io.Reader, names []string) ([]byte, error) {
	if len(names) == 0 || names[0] == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(names[0])
}
