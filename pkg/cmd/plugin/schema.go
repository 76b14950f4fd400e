// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol/jsonschema"
)

// newSchema returns the command that prints the JSON Schemas of what hooks are sent and answer.
func newSchema(streams Streams) *cobra.Command {
	o, folder := output{streams: streams}, ""
	command := &cobra.Command{
		Use:     "schema [NAME]",
		GroupID: groupWrite,
		Short:   "Print the JSON Schemas of what hooks are sent and answer",
		Long: `Print the JSON Schemas of what hooks are sent and answer, for editors, and for types that are generated from them in any language.

There is one for each message of each kind of controllers, in each version of the protocol. Without a NAME, their names are listed.`,
		Example: `  # List the schemas.
  kubectl metacontroller schema

  # Make types in TypeScript of requests to the sync hook of a CompositeController.
  kubectl metacontroller schema composite-request-v2 | npx json-schema-to-typescript > request.d.ts

  # Write all schemas into a folder.
  kubectl metacontroller schema --folder schemas`,
		ValidArgs: slices.Sorted(maps.Keys(jsonschema.Documents())),
		RunE: func(command *cobra.Command, args []string) error {
			if err := o.validate(command); err != nil {
				return err
			}
			switch {
			case len(args) > 1 || len(args) == 1 && folder != "":
				return usageError(command, "give one NAME, or --folder")
			case folder != "":
				return writeSchemas(folder)
			case len(args) == 0:
				return listSchemas(&o)
			}
			return printSchema(command, &o, args[0])
		},
	}
	command.Flags().StringVar(&folder, "folder", "", "Folder that all schemas are written to.")
	o.addFlags(command, "json", "yaml", "name")
	return command
}

// printSchema prints one schema.
func printSchema(command *cobra.Command, o *output, name string) error {
	document, known := jsonschema.Documents()[name]
	if !known {
		return usageError(command, "there is no schema %q, there are %s", name, strings.Join(command.ValidArgs, ", "))
	}
	switch o.format {
	case "yaml":
		return o.printValue(document)
	case "name":
		_, err := fmt.Fprintln(o.streams.Out, name)
		return err
	}
	text, err := document.Format()
	if err != nil {
		return err
	}
	_, err = o.streams.Out.Write(text)
	return err
}

// listSchemas prints the names of all schemas.
func listSchemas(o *output) error {
	documents := jsonschema.Documents()
	if o.format == "json" || o.format == "yaml" {
		return o.printValue(documents)
	}
	rows := [][]string{{"NAME", "MESSAGE"}}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		if o.format == "name" {
			if _, err := fmt.Fprintln(o.streams.Out, name); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{name, documents[name].Title})
	}
	if o.format == "name" {
		return nil
	}
	return printTable(o.streams.Out, rows)
}

func writeSchemas(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // it is for a repository
		return err
	}
	for name, document := range jsonschema.Documents() {
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
