// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/adoption"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
)

// newAdopt returns the command that adopts existing objects as children of a parent.
func newAdopt(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	a := &adopt{cluster: c, output: newOutput(streams)}
	command := &cobra.Command{
		Use:   "adopt [CONTROLLER] PARENT ...",
		Short: "Adopt existing objects as children of a parent",
		Long: `Adopt existing objects as children of a parent.

After a restore, or after a controller was replaced, the controller may be unable to use existing objects with the names
of children (event ChildNameTaken): their label controller-uid has the UID of the former parent, or their annotation
metacontroller.k8s.io/decorator-controller is missing or names another controller. The command calls the hook, like
preview, to find out which children the parent should have. It lists each existing object with the name of such a child,
and its owner, if the object names one. It then changes the objects without another owner so that the controller finds
them: it sets their labels, that annotation and, for a DecoratorController, their owner reference. It also updates
ControllerRevisions with the UID of the former parent. All other fields stay unchanged until the next sync. The command
skips objects that another object controls or that another controller uses. Without --unmarked, it also skips objects
that no controller seems to have created.`,
		Example: `  # Which objects would become children of a Website?
  kubectl metacontroller adopt website/front -n shop --dry-run

  # Make them its children.
  kubectl metacontroller adopt website/front -n shop`,
		ValidArgsFunction: c.completeSubjects,
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmdutil.UsageErrorf(command, "specify a parent")
			}
			if err := a.validate(command); err != nil {
				return err
			}
			return a.run(command.Context(), args)
		},
	}
	command.Flags().BoolVar(&a.dryRun, "dry-run", false,
		"Print the changes, and let the cluster check them without storing them.")
	command.Flags().BoolVar(&a.unmarked, "unmarked", false,
		"Also adopt objects without a sign that a controller created them. The next sync updates them to the desired state.")
	a.output.addFlags(command)
	return command
}

// adopt runs the command.
type adopt struct {
	*cluster
	output
	dryRun, unmarked bool
}

func (a *adopt) run(ctx context.Context, args []string) error {
	find, err := a.lookup()
	if err != nil {
		return err
	}
	controller, parents, err := a.split(ctx, find, args)
	if err != nil {
		return err
	}
	if len(parents) == 0 {
		return fmt.Errorf("also specify a parent of %s", controller)
	}
	client, err := a.DynamicClient()
	if err != nil {
		return err
	}
	mapper, err := a.ToRESTMapper()
	if err != nil {
		return err
	}
	finder := &adoption.Finder{Lookup: find, Client: client, Mapper: mapper, Wanted: a.wanted, Unmarked: a.unmarked}
	return a.inList(true, func() error {
		for _, argument := range parents {
			if err := a.parent(ctx, finder, controller, argument); err != nil {
				return err
			}
		}
		return nil
	})
}

// parent adopts the children of one parent, for one controller or for all controllers of its type.
func (a *adopt) parent(
	ctx context.Context, finder *adoption.Finder, only *lookup.Controller, argument string,
) error {
	of, err := finder.Lookup.ParentIn(only, argument)
	if err != nil {
		return err
	}
	controllers := []*lookup.Controller{only}
	if only == nil {
		if controllers, err = finder.Lookup.ControllersOf(ctx, of.Mapping.Resource.GroupResource()); err != nil {
			return err
		}
	}
	var found []*adoption.Adoption
	for _, controller := range controllers {
		one, err := finder.Find(ctx, controller, of)
		if apierrors.IsNotFound(err) && len(controllers) > 1 {
			continue // another controller selects the parent
		}
		if err != nil {
			return fmt.Errorf("%s: find the desired children of %s: %w", controller, argument, err)
		}
		found = append(found, one)
	}
	for _, one := range found {
		if err := a.show(one); err != nil {
			return err
		}
	}
	for _, one := range found {
		if err := a.perform(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// wanted returns the desired children that a sync would create or apply.
func (a *adopt) wanted(
	ctx context.Context, controller *lookup.Controller, parent *lookup.Parent,
) (wanted []v1alpha1.ReviewedObject, err error) {
	reviewer, err := a.reviewer(controller)
	if err != nil {
		return nil, err
	}
	spec := reviewOf(controller)
	spec.Parent, spec.Details = parent.InReview(), v1alpha1.SyncReviewDetailsSteps
	err = reviews.Each(ctx, reviewer, spec, nil, func(review *v1alpha1.SyncReview) error {
		for _, sync := range review.Status.Syncs {
			for _, step := range sync.Steps {
				switch step.Operation {
				case v1alpha1.ReviewedCreate, v1alpha1.ReviewedApply:
					if step.Kind != "ControllerRevision" {
						wanted = append(wanted, step.ReviewedObject)
					}
				}
			}
			if sync.Error != "" && len(sync.Steps) == 0 {
				return errors.New(sync.Error)
			}
		}
		return nil
	})
	return wanted, err
}

// show prints what happens to each object.
func (a *adopt) show(of *adoption.Adoption) error {
	if a.printer != nil {
		return nil
	}
	rows := [][]string{{of.Claimant.Parent.String() + " of " + of.Controller.String()}}
	for _, one := range of.Candidates {
		said := "is skipped: " + one.Reason
		if one.Change != nil {
			said = one.InWords()
		}
		rows = append(rows, []string{"  " + one.Holder.String() + " (" + of.Claimant.Whose(one.Holder) + ")", said})
	}
	if len(of.Candidates) == 0 {
		rows[0][0] += ": nothing to adopt, because no other object has the name of a child"
	}
	return printTable(a.streams.Out, rows)
}

// perform changes the objects. ControllerRevisions come last: the server drops the names of objects that are not
// children from a revision.
func (a *adopt) perform(ctx context.Context, of *adoption.Adoption) error {
	done := "adopted"
	if a.dryRun {
		done += " (dry run)"
	}
	for _, one := range of.Candidates {
		if one.Change == nil {
			continue
		}
		body, err := one.Patch(of.Claimant.Parent)
		if err != nil {
			return err
		}
		if err := a.change(ctx, one.Resource, one.Holder.Namespace, one.Holder.Name, body, done); err != nil {
			return fmt.Errorf("%s: %w", one.Holder, err)
		}
	}
	return a.adoptRevisions(ctx, of, done)
}

// change changes an object by a merge patch, and prints the result.
func (a *adopt) change(
	ctx context.Context, of schema.GroupVersionResource, namespace, name string, body []byte, done string,
) error {
	patched, err := a.patch(ctx, of, namespace, name, body, a.dryRun)
	if err != nil {
		return err
	}
	return a.printDone(patched, done)
}

// adoptRevisions relabels the ControllerRevisions of former parents.
func (a *adopt) adoptRevisions(ctx context.Context, of *adoption.Adoption, done string) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	revisions, err := of.Revisions(ctx, client)
	if err != nil {
		return err
	}
	for i := range revisions {
		revision := &revisions[i]
		body, err := of.PatchOf(revision)
		if err != nil {
			return err
		}
		resource := v1alpha1.SchemeGroupVersion.WithResource("controllerrevisions")
		if err := a.change(ctx, resource, revision.Namespace, revision.Name, body, done); err != nil {
			return fmt.Errorf("ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
		}
	}
	return nil
}
