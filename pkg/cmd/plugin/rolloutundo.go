// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// newRolloutUndo returns the command that takes a rolling update back.
func newRolloutUndo(c *cluster, streams Streams) *cobra.Command {
	u := &rolloutUndo{rollout: rollout{cluster: c, output: output{streams: streams}}}
	command := &cobra.Command{
		Use:     "undo PARENT",
		GroupID: groupAct,
		Short:   "Give a parent the version back that children are still at",
		Long: `Give a parent the version back that children are still at.

The fields of the parent that rolling updates are about become what they were in an earlier version. The children that have
moved go back one by one. Earlier versions are kept as long as children are at them: an update that is done can be taken back only by
whoever has the earlier parent, such as a repository. Whoever applies the parent from there has to change it there, too.`,
		Example: `  # Go back to the version before.
  kubectl metacontroller rollout undo catset/web

  # Which versions are there? Go back to one of them.
  kubectl metacontroller rollout status catset/web --watch=false -o yaml
  kubectl metacontroller rollout undo catset/web --to-revision catsets.ctl.enisoc.com-5d1c`,
		Args:              oneArg("a parent, such as catset/web"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error {
			if err := u.validate(command); err != nil {
				return err
			}
			return u.run(command.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&u.toRevision, "to-revision", "", "Name of the ControllerRevision to go back to. Without it, the newest earlier one.")
	flags.BoolVar(&u.dryRun, "dry-run", false, "Show what would change, and have the cluster check it.")
	u.output.addFlags(command, "json", "yaml", "name")
	return command
}

// rolloutUndo is the command under way.
type rolloutUndo struct {
	rollout
	toRevision string
	dryRun     bool
}

func (u *rolloutUndo) run(ctx context.Context, argument string) error {
	find, err := u.lookup()
	if err != nil {
		return err
	}
	of, err := find.Parent(argument)
	if err != nil {
		return err
	}
	parent, all, err := u.revisionsOf(ctx, of)
	if err != nil {
		return err
	}
	revision, err := u.choose(all)
	if err != nil {
		return err
	}
	patch, err := backTo(parent, revision)
	if err != nil {
		return err
	}
	patched, err := u.patch(ctx, of.Mapping.Resource, of.Namespace, of.Name, patch, u.dryRun)
	if err != nil {
		return err
	}
	if u.format != "" {
		return u.print(patched)
	}
	done := "goes back to " + revision.Name
	if u.dryRun {
		done = "would go back to " + revision.Name + ": " + string(patch)
	}
	_, err = fmt.Fprintf(u.streams.Out, "%s %s\n", nameOf(of.Mapping.GroupVersionKind.GroupKind(), of.Name), done)
	return err
}

// choose returns the revision to go back to.
func (u *rolloutUndo) choose(all []v1alpha1.ControllerRevision) (*v1alpha1.ControllerRevision, error) {
	at := slices.IndexFunc(all, func(revision v1alpha1.ControllerRevision) bool {
		if u.toRevision != "" {
			return revision.Name == u.toRevision
		}
		return !isCurrent(&revision) && childrenAt(&revision) > 0
	})
	switch {
	case at >= 0:
		return &all[at], nil
	case u.toRevision != "":
		return nil, fmt.Errorf("the parent has no ControllerRevision %q", u.toRevision)
	}
	return nil, errNoEarlierVersion
}

// backTo returns the JSON merge patch that gives a parent what a revision records.
func backTo(parent *unstructured.Unstructured, revision *v1alpha1.ControllerRevision) ([]byte, error) {
	raw, err := parent.MarshalJSON()
	if err != nil {
		return nil, err
	}
	now, err := object.Parse(raw)
	if err != nil {
		return nil, err
	}
	then, err := revisions.Restore(now, revision, revisions.Recorded(revision))
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(now.JSON(), then.JSON())
}
