// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

// newPause returns the command that pauses controllers or parents.
func newPause(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	return newPausing(c, streams, true, &cobra.Command{
		Use:   "pause CONTROLLER ... | [CONTROLLER] PARENT ...",
		Short: "Pause reconciliation of controllers or parents",
		Long: `Pause reconciliation of controllers or parents.

While a controller or parent is paused, the server calls no hook, writes nothing and keeps finalizers. The command sets
spec.paused of a controller, or the annotation metacontroller.k8s.io/paused of a parent, which applies to all
controllers. After a controller, specify parents by name only: the command then pauses the parents, and not the
controller. If you apply the objects from a repository, also change them there.`,
		Example: `  # Pause a Website while you repair it manually.
  kubectl metacontroller pause website/front -n shop

  # The same, with its controller before its name. This does not pause the controller.
  kubectl metacontroller pause cc/websites front -n shop

  # Pause a controller.
  kubectl metacontroller pause cc/websites`,
	})
}

// newResume returns the command that resumes controllers or parents.
func newResume(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	return newPausing(c, streams, false, &cobra.Command{
		Use:   "resume CONTROLLER ... | [CONTROLLER] PARENT ...",
		Short: "Resume reconciliation of controllers or parents",
		Long: `Resume reconciliation of controllers or parents.

The server then syncs the parent, or all parents of the controller.`,
		Example: `  kubectl metacontroller resume website/front -n shop
  kubectl metacontroller resume cc/websites`,
	})
}

// pausing runs pause or resume.
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
			return cmdutil.UsageErrorf(command, "specify a controller or a parent")
		}
		if err := p.validate(command); err != nil {
			return err
		}
		return p.run(command.Context(), args)
	}
	command.Flags().BoolVar(&p.dryRun, "dry-run", false, "Let the cluster check the change without storing it.")
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

// subjectsOfPause returns the controllers and parents of the arguments. As in all commands, arguments after a
// controller are its parents, unless they are controllers with their kind.
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
			return nil, errors.New("specify only controllers, or one controller and its parents")
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
	object, err := client.Resource(parent.Mapping.Resource).Namespace(parent.Namespace).Get(ctx, parent.Name,
		metav1.GetOptions{})
	if err != nil {
		return err
	}
	return p.patch(ctx, parent.Mapping.Resource, parent.Namespace, parent.Name,
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.PausedAnnotation: wanted}}},
		object.GetAnnotations()[v1alpha1.PausedAnnotation] == "true")
}

// patch changes an object, and prints the result.
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

// newResync returns the command that syncs parents now.
func newResync(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	r := &resync{cluster: c, output: newOutput(streams)}
	command := &cobra.Command{
		Use:   "resync CONTROLLER [PARENT ...] | PARENT ...",
		Short: "Sync parents now, even if nothing has changed",
		Long: `Sync parents now, even if nothing has changed.

Without parents, sync all parents of the controller: in all namespaces, unless --namespace is set. The server syncs them
one after the other, so that it does not overload the hook and the cluster. Without a controller, all controllers of the
parent sync it. Paused parents stay paused.`,
		Example: `  # All Websites, because the hook has changed, or reads something that is not in the cluster.
  kubectl metacontroller resync cc/websites

  # One of them, and those with a label.
  kubectl metacontroller resync website/front -n shop
  kubectl metacontroller resync cc/websites -l tier=front

  # How many parents would be synced?
  kubectl metacontroller resync cc/websites --dry-run`,
		ValidArgsFunction: c.completeSubjects,
		RunE: func(command *cobra.Command, args []string) error {
			if err := r.validate(command, args); err != nil {
				return err
			}
			return r.run(command.Context(), args)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&r.selector, "selector", "l", "", "Label selector for the parents, such as tier=front.")
	flags.BoolVar(&r.dryRun, "dry-run", false, "Only print the number of parents.")
	r.addAllNamespaces(command)
	r.output.addFlags(command)
	return command
}

// resync runs the command.
type resync struct {
	*cluster
	output
	selector string
	dryRun   bool
	labels   *metav1.LabelSelector
}

func (r *resync) validate(command *cobra.Command, args []string) (err error) {
	if len(args) == 0 {
		return cmdutil.UsageErrorf(command, "specify a controller or a parent")
	}
	if r.selector != "" {
		if r.labels, err = metav1.ParseToLabelSelector(r.selector); err != nil {
			return cmdutil.UsageErrorf(command, "--selector: %v", err)
		}
	}
	return r.output.validate(command)
}

func (r *resync) run(ctx context.Context, args []string) error {
	find, err := r.lookup()
	if err != nil {
		return err
	}
	controller, parents, err := r.split(ctx, find, args)
	if err != nil {
		return err
	}
	if len(parents) == 0 {
		all := &v1alpha1.ResyncParents{Namespace: r.namespaceOrAll(), LabelSelector: r.labels}
		answered, err := r.request(ctx, controller, v1alpha1.ResyncRequestSpec{Parents: all})
		if err != nil {
			return err
		}
		return r.show(controller, answered)
	}
	return r.inList(len(parents) > 1 || controller == nil, func() error {
		for _, argument := range parents {
			if err := r.resyncParent(ctx, find, controller, argument); err != nil {
				return err
			}
		}
		return nil
	})
}

// resyncParent syncs a parent, by one controller or by all controllers that have it.
func (r *resync) resyncParent(ctx context.Context, find *lookup.Lookup, only *lookup.Controller,
	argument string) error {
	parent, err := find.ParentIn(only, argument)
	if err != nil {
		return err
	}
	controllers := []*lookup.Controller{only}
	if only == nil {
		if controllers, err = find.ControllersOf(ctx, parent.Mapping.Resource.GroupResource()); err != nil {
			return err
		}
	}
	found := false
	for _, controller := range controllers {
		answered, err := r.request(ctx, controller, v1alpha1.ResyncRequestSpec{Parent: parent.InReview()})
		if err != nil {
			return err
		}
		if answered.Status.Parents+answered.Status.Paused == 0 {
			continue
		}
		found = true
		if err := r.show(controller, answered); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf(
			"no running controller handles %s: the object does not exist, or no controller selects it", argument)
	}
	return nil
}

// request requests syncs of parents of a controller.
func (r *resync) request(ctx context.Context, controller *lookup.Controller,
	spec v1alpha1.ResyncRequestSpec) (*v1alpha1.ResyncRequest, error) {
	client, err := r.client()
	if err != nil {
		return nil, err
	}
	request := &v1alpha1.ResyncRequest{Spec: spec}
	request.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("ResyncRequest"))
	post := client.MetacontrollerV1alpha1().RESTClient().Post().Resource(controller.Resource()).
		Name(controller.GetName()).SubResource("resync").Body(request)
	if r.dryRun {
		post = post.Param("dryRun", metav1.DryRunAll)
	}
	answered := &v1alpha1.ResyncRequest{}
	return answered, post.Do(ctx).Into(answered)
}

// show prints the number of parents that are synced.
func (r *resync) show(controller *lookup.Controller, answered *v1alpha1.ResyncRequest) error {
	switch {
	case r.isNames():
		return r.print(controller.Object)
	case r.printer != nil:
		return r.print(answered)
	}
	verb := "will be synced"
	if r.dryRun {
		verb = "would be synced"
	}
	count := fmt.Sprintf("%d parents", answered.Status.Parents)
	if answered.Status.Parents == 1 {
		count = "1 parent"
	}
	if paused := answered.Status.Paused; paused > 0 {
		verb += fmt.Sprintf(", %d paused", paused)
	}
	if _, err := fmt.Fprintf(r.streams.Out, "%s: %s %s\n", controller, count, verb); err != nil {
		return err
	}
	for _, note := range answered.Status.Notes {
		if _, err := fmt.Fprintln(r.streams.ErrOut, "note: "+note); err != nil {
			return err
		}
	}
	return nil
}
