// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

// newResync returns the command that has parents synced now.
func newResync(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	r := &resync{cluster: c, output: newOutput(streams)}
	command := &cobra.Command{
		Use:   "resync CONTROLLER [PARENT ...] | PARENT ...",
		Short: "Have parents synced now, although nothing has changed",
		Long: `Have parents synced now, although nothing has changed.

Without parents, all parents of the controller are synced: in all namespaces, unless there is --namespace. They are synced one after
the other, so that the hook and the cluster are not overrun. A parent without a controller is synced by all controllers that are
for its type. Those that are paused stay paused.`,
		Example: `  # All Websites, because the hook has changed, or reads something that is not in the cluster.
  kubectl metacontroller resync cc/websites

  # One of them, and those with a label.
  kubectl metacontroller resync website/front -n shop
  kubectl metacontroller resync cc/websites -l tier=front

  # How many would that be?
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
	flags.BoolVar(&r.dryRun, "dry-run", false, "Only say how many parents there are.")
	r.addAllNamespaces(command)
	r.output.addFlags(command)
	return command
}

// resync is the command under way.
type resync struct {
	*cluster
	output
	selector string
	dryRun   bool
	labels   *metav1.LabelSelector
}

func (r *resync) validate(command *cobra.Command, args []string) (err error) {
	if len(args) == 0 {
		return cmdutil.UsageErrorf(command, "give a controller or a parent")
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

// resyncParent has a parent synced, by the only controller or by all that have it.
func (r *resync) resyncParent(ctx context.Context, find *lookup.Lookup, only *lookup.Controller, argument string) error {
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
		return fmt.Errorf("no controller that runs has %s: it does not exist, or is not selected", argument)
	}
	return nil
}

// request has parents of a controller synced.
func (r *resync) request(ctx context.Context, controller *lookup.Controller, spec v1alpha1.ResyncRequestSpec) (*v1alpha1.ResyncRequest, error) {
	client, err := r.client()
	if err != nil {
		return nil, err
	}
	request := &v1alpha1.ResyncRequest{Spec: spec}
	request.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("ResyncRequest"))
	post := client.MetacontrollerV1alpha1().RESTClient().Post().Resource(controller.Resource()).Name(controller.GetName()).SubResource("resync").Body(request)
	if r.dryRun {
		post = post.Param("dryRun", metav1.DryRunAll)
	}
	answered := &v1alpha1.ResyncRequest{}
	return answered, post.Do(ctx).Into(answered)
}

// show prints how many parents of a controller are synced.
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
