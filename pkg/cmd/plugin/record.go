// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/hooktest"
)

// newRecord returns the command that makes a test of a call.
func newRecord(c *cluster, streams Streams) *cobra.Command {
	r := &record{cluster: c, streams: streams}
	command := &cobra.Command{
		Use:     "record CALL",
		GroupID: groupWrite,
		Short:   "Make a test of a call that a controller has made",
		Long: `Make a test of a call that a controller has made.

A file in the folder tests gets the parent, its children and the related objects as the hook was sent them, and expects what it
answered and what followed from that. Values of Secrets are blanked. Read the file before you keep it: it has objects of your
cluster.`,
		Example: `  kubectl metacontroller calls website/front -n shop
  kubectl metacontroller record 20261124-101500-123456-abcd -n shop --name scaled-down`,
		Args:              oneArg("the name of a call, see 'kubectl metacontroller calls'"),
		ValidArgsFunction: c.completeCalls,
		RunE: func(command *cobra.Command, args []string) error {
			if strings.ContainsAny(r.name, `/\`) {
				return usageError(command, "--name is %q, it should be the name of a file, without its extension", r.name)
			}
			return r.run(command.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&r.folder, "folder", ".", "Folder with the controller. The test is written into the folder tests below it.")
	flags.StringVar(&r.name, "name", "", "Name of the test. Without it, that of the call.")
	addFilename(flags, &r.filenames, "The controllers and their CustomResourceDefinitions, if they are not in the folder.")
	return command
}

// record is the command under way.
type record struct {
	*cluster
	streams      Streams
	folder, name string
	filenames    []string
}

func (r *record) run(ctx context.Context, name string) error {
	suite, err := hooktest.Begin(r.folder, r.filenames)
	if err != nil {
		return err
	}
	call, err := r.call(ctx, name)
	if err != nil {
		return err
	}
	if r.name == "" {
		r.name = name
	}
	path, err := suite.Record(ctx, call, r.name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(r.streams.Out, path)
	return err
}
