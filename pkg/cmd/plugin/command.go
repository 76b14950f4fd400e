// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Streams are where a command reads from and prints to.
type Streams struct {
	In          io.Reader
	Out, ErrOut io.Writer
}

// Main runs the command with arguments and returns its exit code.
func Main(streams Streams, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command := NewCommand(streams)
	command.SetArgs(args)
	return exitCode(streams.ErrOut, command.ExecuteContext(ctx))
}

// exit is an error with the exit code that it ends the command with. Nothing is printed if it has no error.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return fmt.Sprintf("exit code %d: %v", e.code, e.err) }

func (e *exit) Unwrap() error { return e.err }

// exitCode prints an error and returns the exit code for it: 1, unless it has one.
func exitCode(to io.Writer, err error) int {
	if err == nil {
		return 0
	}
	code := 1
	if with, ok := errors.AsType[*exit](err); ok {
		code, err = with.code, with.err
	}
	if err != nil {
		_, _ = fmt.Fprintln(to, "error:", explain(err))
	}
	return code
}

// NewCommand returns the command with its subcommands.
func NewCommand(streams Streams) *cobra.Command {
	c := newCluster(streams.ErrOut)
	command := &cobra.Command{
		Use:   "kubectl-metacontroller",
		Short: "See what controllers of metacontroller-apiserver do and would do, and test their hooks",
		Long: `See what controllers of metacontroller-apiserver do and would do, and test their hooks.

A controller is given as cc/NAME (a CompositeController), dec/NAME (a DecoratorController), or NAME if only one of the two has
it. A parent is given as TYPE/NAME, such as website/shop, or as NAME behind its controller.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl metacontroller"},
		Args:          cobra.NoArgs,
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	command.SetIn(streams.In)
	command.SetOut(streams.Out)
	command.SetErr(streams.ErrOut)
	c.addFlags(command.PersistentFlags())
	completeFlag(command, "namespace", c.completeNamespaces)
	useHelpOfKubectl(command)
	command.AddGroup(
		&cobra.Group{ID: groupLook, Title: "Look at controllers and parents:"},
		&cobra.Group{ID: groupAct, Title: "Have something done:"},
		&cobra.Group{ID: groupWrite, Title: "Write controllers:"},
	)
	command.SetHelpCommandGroupID(groupOther)
	command.SetCompletionCommandGroupID(groupOther)
	command.AddGroup(&cobra.Group{ID: groupOther, Title: "Other commands:"})
	command.AddCommand(newStatus(c, streams), newPreview(c, streams), newCalls(c, streams), newReplay(c, streams), newRollout(c, streams), newResync(c, streams), newPause(c, streams), newResume(c, streams), newTest(streams), newRecord(c, streams), newInit(streams), newSchema(streams), newVersion(streams), newOptions(streams))
	return command
}

// The groups of commands in the help.
const (
	groupLook  = "look"
	groupAct   = "act"
	groupWrite = "write"
	groupOther = "other"
)
