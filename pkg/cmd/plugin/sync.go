// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

// newPause returns the command that has controllers or parents left alone.
func newPause(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	return newPausing(c, streams, true, &cobra.Command{
		Use:   "pause CONTROLLER ... | [CONTROLLER] PARENT ...",
		Short: "Have a controller stand still, or a parent left alone",
		Long: `Have a controller stand still, or a parent left alone.

No hook is called and nothing is written meanwhile; finalizers wait. Of a controller, spec.paused is set, and of
a parent the annotation metacontroller.k8s.io/paused, which counts for all controllers. Behind a controller,
parents may be given by their names alone: then they are paused, and the controller is not. Whoever applies
these from a repository has to change them there.`,
		Example: `  # Leave a Website alone while it is mended by hand.
  kubectl metacontroller pause website/front -n shop

  # The same, behind its controller, which goes on.
  kubectl metacontroller pause cc/websites front -n shop

  # Have a controller stand still.
  kubectl metacontroller pause cc/websites`,
	})
}

// newResume returns the command that takes pause back.
func newResume(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	return newPausing(c, streams, false, &cobra.Command{
		Use:   "resume CONTROLLER ... | [CONTROLLER] PARENT ...",
		Short: "Have a controller or a parent go on that is paused",
		Long: `Have a controller or a parent go on that is paused.

All parents of the controller, or the parent, are synced.`,
		Example: `  kubectl metacontroller resume website/front -n shop
  kubectl metacontroller resume cc/websites`,
	})
}

// pausing is pause or resume under way.
type pausing struct {
	*cluster
	output
	paused bool
	dryRun bool
}

func newPausing(c *cluster, streams genericiooptions.IOStreams, paused bool, command *cobra.Command) *cobra.Command {
	p := &pausing{cluster: c, output: newOutput(streams), paused: paused}
	command.ValidArgsFunction = c.completeSubjects
	command.RunE = func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmdutil.UsageErrorf(command, "give a controller or a parent")
		}
		if err := p.validate(command); err != nil {
			return err
		}
		return p.run(command.Context(), args)
	}
	command.Flags().BoolVar(&p.dryRun, "dry-run", false, "Have the cluster check the change, and store nothing.")
	p.output.addFlags(command)
	return command
}

func (p *pausing) run(ctx context.Context, args []string) error {
	find, err := p.lookup()
	if err != nil {
		return err
	}
	all, err := subjectsOfPause(ctx, find, args)
	if err != nil {
		return err
	}
	return p.inList(len(all) > 1, func() error {
		for _, one := range all {
			if one.parent == nil {
				err = p.pauseController(ctx, one.controller)
			} else {
				err = p.pauseParent(ctx, one.parent)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func countFunc(args []string, is func(string) bool) (count int) {
	for _, argument := range args {
		if is(argument) {
			count++
		}
	}
	return count
}

// pausedSubject is a parent, or else a controller.
type pausedSubject struct {
	controller *lookup.Controller
	parent     *lookup.Parent
}

// subjectsOfPause returns what the arguments name, before anything is changed. What follows a controller is its
// parents, as in all commands, unless it is another controller with its kind.
func subjectsOfPause(ctx context.Context, find *lookup.Lookup, args []string) (all []pausedSubject, err error) {
	var of *lookup.Controller // whose parents the further arguments are
	if lookup.IsController(args[0]) && len(args) > 1 {
		switch typed := countFunc(args[1:], lookup.IsTypedController); {
		case typed == 0:
			if of, err = find.Controller(ctx, args[0]); err != nil {
				return nil, err
			}
			args = args[1:]
		case typed < len(args)-1:
			return nil, errors.New("give controllers alone, or one controller and its parents")
		}
	}
	for _, argument := range args {
		var one pausedSubject
		switch {
		case of == nil && lookup.IsController(argument):
			one.controller, err = find.Controller(ctx, argument)
		default:
			one.parent, err = find.ParentIn(of, argument)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// pauseController sets or removes spec.paused.
func (p *pausing) pauseController(ctx context.Context, controller *lookup.Controller) error {
	var wanted any
	if p.paused {
		wanted = true
	}
	return p.patch(ctx, v1alpha1.SchemeGroupVersion.WithResource(controller.Resource()), "", controller.GetName(),
		map[string]any{"spec": map[string]any{"paused": wanted}}, controller.IsPaused())
}

// pauseParent sets or removes the annotation of a parent.
func (p *pausing) pauseParent(ctx context.Context, parent *lookup.Parent) error {
	var wanted any
	if p.paused {
		wanted = "true"
	}
	client, err := p.DynamicClient()
	if err != nil {
		return err
	}
	object, err := client.Resource(parent.Mapping.Resource).Namespace(parent.Namespace).Get(ctx, parent.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return p.patch(ctx, parent.Mapping.Resource, parent.Namespace, parent.Name,
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.PausedAnnotation: wanted}}},
		object.GetAnnotations()[v1alpha1.PausedAnnotation] == "true")
}

// patch changes an object, and prints what was done. A change to what it is already changes nothing.
func (p *pausing) patch(
	ctx context.Context, of schema.GroupVersionResource, namespace, name string, change any, isPaused bool,
) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	patched, err := p.cluster.patch(ctx, of, namespace, name, body, p.dryRun)
	if err != nil {
		return err
	}
	done := map[bool]string{true: "paused", false: "resumed"}[p.paused]
	if isPaused == p.paused {
		done = "unchanged"
	}
	if p.dryRun {
		done += " (dry run)"
	}
	return p.printDone(patched, done)
}
