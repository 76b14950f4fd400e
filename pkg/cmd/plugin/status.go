// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

// newStatus returns the command that shows how controllers and parents do.
func newStatus(c *cluster, streams Streams) *cobra.Command {
	s := &status{cluster: c, output: output{streams: streams}}
	command := &cobra.Command{
		Use:     "status [CONTROLLER] [PARENT ...]",
		GroupID: groupLook,
		Short:   "Show how a controller or a parent does, and what is wrong",
		Long: `Show how a controller or a parent does, and what is wrong.

Of a parent, it shows a tree with the controllers that are for it and with its children, how old they are and what is wrong with
each. Of a controller, it shows its conditions, and those of its parents that are not as they should be: in all namespaces,
unless there is --namespace. Without arguments, it shows all controllers.`,
		Example: `  # A Website with its children.
  kubectl metacontroller status website/front -n shop

  # A controller, and which of its parents fail or wait.
  kubectl metacontroller status cc/websites

  # All controllers.
  kubectl metacontroller status`,
		ValidArgsFunction: c.completeSubjects,
		RunE: func(command *cobra.Command, args []string) error {
			if err := s.validate(command); err != nil {
				return err
			}
			return s.run(command.Context(), args)
		},
	}
	s.output.addFlags(command, "json", "yaml", "name")
	return command
}

// status is the command under way.
type status struct {
	*cluster
	output
}

func (s *status) run(ctx context.Context, args []string) error {
	find, err := s.lookup()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return s.showAll(ctx, find)
	}
	controller, parents, err := find.Split(ctx, args)
	if err != nil {
		return err
	}
	if len(parents) == 0 {
		return s.showController(ctx, controller)
	}
	return s.inList(len(parents) > 1 || controller == nil, func() error {
		for i, argument := range parents {
			if i > 0 && s.format == "" {
				if _, err := fmt.Fprintln(s.streams.Out); err != nil {
					return err
				}
			}
			if err := s.showParent(ctx, find, controller, argument); err != nil {
				return err
			}
		}
		return nil
	})
}

// showAll prints a line for each controller.
func (s *status) showAll(ctx context.Context, find *lookup.Lookup) error {
	all, err := find.Controllers(ctx)
	if err != nil {
		return err
	}
	if s.format != "" {
		return s.inList(true, func() error {
			for _, controller := range all {
				if err := s.print(controller.Object); err != nil {
					return err
				}
			}
			return nil
		})
	}
	rows := [][]string{{"CONTROLLER", "PARENTS", "SYNCED", "FAILING", "PAUSED", "AGE", "STATE"}}
	for _, controller := range all {
		counts := parentCounts(controller)
		rows = append(rows, []string{
			controller.Short(), number(counts.Total), number(counts.Synced), number(counts.Failing), number(counts.Paused), age(controller.GetCreationTimestamp()),
			s.stateOf(controller),
		})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.streams.ErrOut, "There are no controllers.")
		return err
	}
	return printTable(s.streams.Out, rows)
}

func parentCounts(controller *lookup.Controller) v1alpha1.ParentCounts {
	if counts := controller.GetStatus().Parents; counts != nil {
		return *counts
	}
	return v1alpha1.ParentCounts{}
}
