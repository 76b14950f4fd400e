// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin is the command kubectl-metacontroller.
//
// It is a thin client: the API does the work in the cluster, with the rights of the user. The flags for the cluster and
// for files, the output formats, help and completion are those of kubectl. The file of a command reads its arguments,
// sends requests, and prints the responses. Subpackages have what several commands need, or the work of one:
//
//   - lookup finds the controllers and parents in arguments and files;
//   - reviews sends SyncReviews, page after page, and with responses of a hook on this machine (localhook);
//   - printing prints the responses for people;
//   - adoption works for adopt, hooktest for test and record, scaffold for init.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/options"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
	"github.com/metacontroller/metacontroller-apiserver/pkg/version"
)

// Main runs the command with arguments and returns its exit code.
func Main(streams genericiooptions.IOStreams, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command := NewCommand(streams)
	command.SetArgs(args)
	return exitCode(streams.ErrOut, command.ExecuteContext(ctx))
}

// exit is an error with the exit code of the command. Nothing is printed if err is nil.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return fmt.Sprintf("exit code %d: %v", e.code, e.err) }

func (e *exit) Unwrap() error { return e.err }

// exitCode prints an error and returns its exit code, which is 1 by default.
func exitCode(to io.Writer, err error) int {
	if err == nil {
		return 0
	}
	code := 1
	if with, ok := errors.AsType[*exit](err); ok {
		code, err = with.code, with.err
	}
	if err != nil {
		_, _ = fmt.Fprintln(to, "error:", printing.Escape(explain(err)))
	}
	return code
}

// explain returns the text of an error. It adds a hint if the cluster does not respond or does not serve our API.
func explain(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && apierrors.IsNotFound(err) {
		if details := status.ErrStatus.Details; details != nil && details.Name == "" && lookup.IsOwnAPI(details) {
			return fmt.Sprintf("the cluster does not serve metacontroller.k8s.io/v1alpha1 as this command needs it: "+
				"is metacontroller-apiserver installed, and as new as this command? (%v)", err)
		}
	}
	if unreachable, ok := errors.AsType[*url.Error](err); ok {
		if text, known := cmdutil.StandardErrorMessage(unreachable); known {
			return text
		}
	}
	return err.Error()
}

// NewCommand returns the command with its subcommands.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	c := newCluster(streams)
	cobraOut, cobraErr := streams.Out, streams.ErrOut
	streams.Out, streams.ErrOut = &printing.Terminal{Raw: cobraOut}, &printing.Terminal{Raw: cobraErr}
	command := &cobra.Command{
		Use:   "kubectl-metacontroller",
		Short: "Inspect and manage controllers of metacontroller-apiserver, and test their hooks",
		Long: `Inspect and manage controllers of metacontroller-apiserver, and test their hooks.

Specify a controller as cc/NAME (a CompositeController), dec/NAME (a DecoratorController), or NAME if only one of the
two exists. Specify a parent as TYPE/NAME, such as website/shop, or as NAME after its controller.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl metacontroller"},
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,

		DisableFlagsInUseLine: true,
	}
	command.SetIn(streams.In)
	command.SetOut(cobraOut)
	command.SetErr(cobraErr)
	c.addFlags(command)
	groups := templates.CommandGroups{
		{
			Message: "Inspect controllers and parents:",
			Commands: []*cobra.Command{
				newStatus(c, streams), newPreview(c, streams), newCalls(c, streams), newReplay(c, streams),
			},
		},
		{
			Message: "Manage controllers and parents:",
			Commands: []*cobra.Command{
				newRollout(c, streams), newResync(c, streams), newPause(c, streams), newResume(c, streams),
				newAdopt(c, streams),
			},
		},
		{
			Message:  "Develop controllers:",
			Commands: []*cobra.Command{newTest(streams), newRecord(c, streams), newInit(streams), newSchema(streams)},
		},
	}
	for _, group := range groups {
		for _, one := range group.Commands {
			one.DisableFlagsInUseLine = true // kubectl's help says [options]
		}
	}
	groups.Add(command)
	templates.ActsAsRootCommand(command, []string{"options"}, groups...)
	command.AddCommand(newVersion(streams), options.NewCmdOptions(cobraOut))
	return command
}

// newVersion returns the command that prints the version of this program.
func newVersion(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this command", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(streams.Out, "kubectl-metacontroller", version.Get())
			return err
		},
	}
}

// oneArg accepts exactly one argument. The usage error describes it as what.
func oneArg(what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) != 1 {
			return cmdutil.UsageErrorf(command, "specify %s", what)
		}
		return nil
	}
}
