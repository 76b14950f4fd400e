// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// useHelpOfKubectl has a command and those below it print help and usage as kubectl does: the options of
// the cluster, which all commands have, are left out. It is code and no template, because a program with
// templates is twice as large.
func useHelpOfKubectl(root *cobra.Command) {
	root.SetHelpFunc(func(command *cobra.Command, _ []string) {
		out := command.OutOrStdout()
		text := command.Long
		if text == "" {
			text = command.Short + "."
		}
		_, _ = fmt.Fprintln(out, strings.TrimSpace(text))
		printUsage(out, command)
	})
	root.SetUsageFunc(func(command *cobra.Command) error {
		printUsage(command.OutOrStderr(), command)
		return nil
	})
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return usageError(command, "%v", err)
	})
}

func printUsage(out io.Writer, command *cobra.Command) {
	if command.Example != "" {
		_, _ = fmt.Fprintf(out, "\nExamples:\n%s\n", strings.Trim(command.Example, "\n"))
	}
	for _, group := range command.Groups() {
		printCommands(out, group, command)
	}
	printCommands(out, &cobra.Group{Title: "Commands:"}, command)
	if flags := command.LocalNonPersistentFlags().FlagUsages(); flags != "" {
		_, _ = fmt.Fprintf(out, "\nOptions:\n%s", flags)
	}
	_, _ = fmt.Fprintf(out, "\nUsage:\n  %s\n", useLine(command))
	if command.HasAvailableSubCommands() {
		_, _ = fmt.Fprintf(out, "\nUse \"%s COMMAND --help\" for more about a command.\n", command.CommandPath())
	}
	_, _ = fmt.Fprintf(out, "Use \"%s options\" for the options that all commands have.\n", command.Root().DisplayName())
}

func useLine(command *cobra.Command) string {
	line := strings.TrimSuffix(command.UseLine(), " [flags]")
	if command.HasAvailableSubCommands() {
		line += " COMMAND"
	}
	if command.HasAvailableLocalFlags() {
		line += " [options]"
	}
	return line
}

// printCommands prints the commands of a group, each with a line about it.
func printCommands(out io.Writer, group *cobra.Group, parent *cobra.Command) {
	var lines []string
	for _, command := range parent.Commands() {
		if command.GroupID == group.ID && command.IsAvailableCommand() {
			lines = append(lines, fmt.Sprintf("  %-12s %s", command.Name(), command.Short))
		}
	}
	if len(lines) > 0 {
		_, _ = fmt.Fprintf(out, "\n%s\n%s\n", group.Title, strings.Join(lines, "\n"))
	}
}

// usageError returns an error about wrong arguments or flags of a command. It names the command that prints the help.
func usageError(command *cobra.Command, format string, args ...any) error {
	return fmt.Errorf(format+"\nSee '%s --help' for help and examples", append(args, command.CommandPath())...)
}

// oneArg accepts one argument, which is called so.
func oneArg(what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError(command, "give %s", what)
		}
		return nil
	}
}

// newOptions returns the command that prints the options of the cluster.
func newOptions(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use: "options", Short: "Print the options that all commands have", GroupID: groupOther, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(streams.Out, "These options can be given to any command:\n\n%s", command.InheritedFlags().FlagUsages())
			return err
		},
	}
}

// addFilename adds -f to flags.
func addFilename(flags *pflag.FlagSet, to *[]string, usage string) {
	flags.StringSliceVarP(to, "filename", "f", nil, usage+" A file, a folder, or - for standard input.")
}
