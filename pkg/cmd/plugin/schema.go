// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookschema"
)

// newSchema returns the command that prints the JSON Schemas of requests and responses of hooks.
func newSchema(streams genericiooptions.IOStreams) *cobra.Command {
	folder, format := "", ""
	command := &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schemas of requests and responses of hooks",
		Long: `Print the JSON Schemas of requests and responses of hooks, for editors and for generators of types.

There is a schema for each message of each kind of controller, in each version of the protocol. Without a NAME, list the
schemas.`,
		Example: `  # List the schemas.
  kubectl metacontroller schema

  # Generate TypeScript types of requests to the sync hook of a CompositeController.
  kubectl metacontroller schema composite-request-v2 | npx json-schema-to-typescript > request.d.ts

  # Write all schemas to a folder.
  kubectl metacontroller schema --folder schemas`,
		ValidArgs: slices.Sorted(maps.Keys(hookschema.Documents())),
		RunE: func(command *cobra.Command, args []string) error {
			switch {
			case len(args) > 1 || len(args) == 1 && folder != "":
				return cmdutil.UsageErrorf(command, "specify one NAME, or --folder")
			case format != "json" && format != "yaml":
				return cmdutil.UsageErrorf(command, "--output must be json or yaml, not %q", format)
			case folder != "":
				return writeSchemas(folder)
			case len(args) == 0:
				return listSchemas(streams)
			}
			return printSchema(command, streams, args[0], format)
		},
	}
	command.Flags().StringVar(&folder, "folder", "", "Folder to write all schemas to, as JSON.")
	command.Flags().StringVarP(&format, "output", "o", "json", "Output format of a schema: json or yaml.")
	completeFlag(command, "output", oneOf("json", "yaml"))
	return command
}

// printSchema prints one schema.
func printSchema(command *cobra.Command, streams genericiooptions.IOStreams, name, format string) error {
	document, known := hookschema.Documents()[name]
	if !known {
		names := strings.Join(command.ValidArgs, ", ")
		return cmdutil.UsageErrorf(command, "unknown schema %q: use one of %s", name, names)
	}
	text, err := document.Format()
	if err == nil && format == "yaml" {
		text, err = yaml.Marshal(document)
	}
	if err != nil {
		return err
	}
	_, err = streams.Out.Write(text)
	return err
}

// listSchemas prints the names of all schemas.
func listSchemas(streams genericiooptions.IOStreams) error {
	documents := hookschema.Documents()
	rows := [][]string{{"NAME", "MESSAGE"}}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		rows = append(rows, []string{name, documents[name].Title})
	}
	return printTable(streams.Out, rows)
}

func writeSchemas(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // it is for a repository
		return err
	}
	for name, document := range hookschema.Documents() {
		text, err := document.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".json"), text, 0o644); err != nil { //nolint:gosec // it is for a repository
			return err
		}
	}
	return nil
}
