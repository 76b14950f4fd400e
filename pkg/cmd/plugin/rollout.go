// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// newRollout returns the command with the subcommands for rolling updates.
func newRollout(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	command := &cobra.Command{
		Use:   "rollout",
		Short: "Show or undo the rolling update of a parent",
		Long:  "Show or undo the rolling update of a parent.",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	for _, one := range []*cobra.Command{newRolloutStatus(c, streams), newRolloutUndo(c, streams)} {
		one.DisableFlagsInUseLine = true
		command.AddCommand(one)
	}
	return command
}

// newRolloutStatus returns the command that shows the progress of a rollout.
func newRolloutStatus(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	r := &rolloutStatus{rollout: rollout{cluster: c, output: newOutput(streams)}}
	command := &cobra.Command{
		Use:   "status PARENT",
		Short: "Show the progress of a rolling update, and wait until it is done",
		Long: `Show the progress of a rolling update, and wait until it is done.

A ControllerRevision records each version of the parent that children still use. The update is done when all children
are healthy at the current version, and the parent is synced. With -o, print the ControllerRevisions when the update is
done, or immediately with --watch=false.`,
		Example: `  # Wait until all children of a CatSet have the new template.
  kubectl metacontroller rollout status catset/web

  # Only print the progress.
  kubectl metacontroller rollout status catset/web --watch=false`,
		Args:              oneArg("a parent, such as catset/web"),
		ValidArgsFunction: c.completeObjects,
		RunE: func(command *cobra.Command, args []string) error {
			if err := r.validate(command); err != nil {
				return err
			}
			return r.run(command.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.BoolVarP(&r.watch, "watch", "w", true, "Wait until the update is done.")
	flags.DurationVar(&r.timeout, "timeout", 0, "Maximum time to wait, such as 5m. Zero means no limit.")
	r.output.addFlags(command)
	return command
}

// rollout is the common part of the commands.
type rollout struct {
	*cluster
	output
}

// rolloutStatus runs rollout status.
type rolloutStatus struct {
	rollout
	watch   bool
	timeout time.Duration
}

// pollInterval is the interval at which the progress of a rollout is read.
const pollInterval = time.Second

func (r *rolloutStatus) run(ctx context.Context, argument string) error {
	find, err := r.lookup()
	if err != nil {
		return err
	}
	parent, err := find.Parent(argument)
	if err != nil {
		return err
	}
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.timeout,
			fmt.Errorf("the rolling update is not done after %s", r.timeout))
		defer cancel()
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for said := ""; ; {
		seen, err := r.progress(ctx, parent)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if r.printer == nil && seen.text != said {
			if err := r.printDone(seen.parent, seen.text); err != nil {
				return err
			}
			said = seen.text
		}
		if seen.done || !r.watch {
			return r.conclude(seen.revisions)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// conclude prints the ControllerRevisions if -o asks for objects.
func (r *rolloutStatus) conclude(revisions []v1alpha1.ControllerRevision) error {
	if r.printer == nil {
		return nil
	}
	return r.inList(true, func() error { return printItems(&r.output, revisions) })
}

// progressOfRollout is the progress of a rollout.
type progressOfRollout struct {
	parent    *unstructured.Unstructured
	done      bool
	text      string
	revisions []v1alpha1.ControllerRevision
}

// progress returns the progress of the rollout.
func (r *rolloutStatus) progress(ctx context.Context, of *lookup.Parent) (*progressOfRollout, error) {
	parent, revisions, err := r.revisionsOf(ctx, of)
	if err != nil {
		return nil, err
	}
	rows, err := r.rowsOf(ctx, parent)
	if err != nil {
		return nil, err
	}
	state, synced := "", true
	var children *v1alpha1.SyncChildren
	for _, row := range rows {
		if row.Spec.Controller.Kind != lookup.Composite {
			continue
		}
		synced = row.Status.State == v1alpha1.SyncStateSynced && row.Status.ObservedGeneration == parent.GetGeneration()
		state, children = string(row.Status.State), row.Status.Children
		if row.Status.Message != "" {
			state += ": " + row.Status.Message
		}
	}
	behind, err := isBehind(parent, revisions)
	if err != nil {
		return nil, err
	}
	earlier := slices.ContainsFunc(revisions, func(of v1alpha1.ControllerRevision) bool { return !isCurrent(&of) })
	// An earlier revision without children is kept until those at the present one are healthy.
	seen := &progressOfRollout{parent: parent, done: !earlier && synced, revisions: revisions}
	switch {
	case seen.done && len(revisions) == 0:
		seen.text = "has no rolling update: no ControllerRevision belongs to it"
	case seen.done:
		seen.text = "is rolled out"
	default:
		moved, all := countChildren(revisions)
		if !earlier && children != nil { // no revision may name the children that have not moved
			moved, all = int(children.AsWanted), int(children.Wanted)
		}
		if behind {
			moved = 0
		}
		seen.text = fmt.Sprintf("has %d of %d children at the current version; %s", moved, all, state)
	}
	return seen, nil
}

// isBehind reports whether no revision records the current parent. If so, no child can be at its version.
func isBehind(parent *unstructured.Unstructured, revisions []v1alpha1.ControllerRevision) (bool, error) {
	for i := range revisions {
		patch, err := backTo(parent, &revisions[i], &revisions[0])
		if err != nil || !differs(patch) {
			return false, err
		}
	}
	return len(revisions) > 0, nil
}

// countChildren returns how many children the current revision names, and how many all revisions name, each once: until
// a restored revision is reconciled, it names children that have moved.
func countChildren(of []v1alpha1.ControllerRevision) (moved, all int) {
	current, named := sets.New[object.Key](), sets.New[object.Key]()
	for i := range of {
		for kind, names := range revisions.NamesByKind(of[i].Children) {
			for name := range names {
				key := object.Key{GroupKind: kind, NamespacedName: types.NamespacedName{Name: name}}
				if named.Insert(key); isCurrent(&of[i]) {
					current.Insert(key)
				}
			}
		}
	}
	return len(current), len(named)
}

// revisionsOf returns a parent and its ControllerRevisions, the current one first and the others by age.
func (r *rollout) revisionsOf(ctx context.Context, of *lookup.Parent) (*unstructured.Unstructured,
	[]v1alpha1.ControllerRevision, error) {
	client, err := r.DynamicClient()
	if err != nil {
		return nil, nil, err
	}
	own, err := r.client()
	if err != nil {
		return nil, nil, err
	}
	parent, err := client.Resource(of.Mapping.Resource).Namespace(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	list, err := own.MetacontrollerV1alpha1().ControllerRevisions(of.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	revisions := slices.DeleteFunc(list.Items, func(revision v1alpha1.ControllerRevision) bool {
		controller := metav1.GetControllerOfNoCopy(&revision)
		return controller == nil || controller.UID != parent.GetUID()
	})
	slices.SortFunc(revisions, func(a, b v1alpha1.ControllerRevision) int {
		if isCurrent(&a) != isCurrent(&b) {
			if isCurrent(&a) {
				return -1
			}
			return 1
		}
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	return parent, revisions, nil
}

func isCurrent(revision *v1alpha1.ControllerRevision) bool {
	return revision.Annotations[v1alpha1.CurrentRevisionAnnotation] == "true"
}

// newRolloutUndo returns the command that rolls a parent back.
func newRolloutUndo(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	u := &rolloutUndo{rollout: rollout{cluster: c, output: newOutput(streams)}}
	command := &cobra.Command{
		Use:   "undo PARENT",
		Short: "Roll a parent back to an earlier version",
		Long: `Roll a parent back to an earlier version.

The command resets the fields of the parent that its revisions record to an earlier version. The server then rolls back
the updated children one by one. Earlier versions exist until the update is done: to undo a complete update, apply the
earlier parent, for example from a repository. If you apply the parent from a repository, also change it there.`,
		Example: `  # Roll back to the previous version.
  kubectl metacontroller rollout undo catset/web

  # List the versions, and roll back to one of them.
  kubectl metacontroller rollout status catset/web --watch=false -o yaml
  kubectl metacontroller rollout undo catset/web --to-revision catsets.ctl.enisoc.com-5d1c`,
		Args:              oneArg("a parent, such as catset/web"),
		ValidArgsFunction: c.completeObjects,
		RunE: func(command *cobra.Command, args []string) error {
			if err := u.validate(command); err != nil {
				return err
			}
			return u.run(command.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&u.toRevision, "to-revision", "",
		"Name of the ControllerRevision to roll back to. By default, the newest earlier one.")
	flags.BoolVar(&u.dryRun, "dry-run", false, "Print the change, and let the cluster check it without storing it.")
	u.output.addFlags(command)
	return command
}

// rolloutUndo runs rollout undo.
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
	revision, patch, err := u.choose(parent, all)
	if err != nil {
		return err
	}
	patched, err := u.patch(ctx, of.Mapping.Resource, of.Namespace, of.Name, patch, u.dryRun)
	if err != nil {
		return err
	}
	done := "goes back to " + revision.Name
	if u.dryRun {
		done = "would go back to " + revision.Name + ": " + string(patch)
	}
	return u.printDone(patched, done)
}

// choose returns the revision to roll back to, and the patch of the parent. By default, this is the first revision that
// differs from the parent. The current one differs if no revision records the parent yet, for example because the hook
// fails.
func (u *rolloutUndo) choose(parent *unstructured.Unstructured, all []v1alpha1.ControllerRevision) (
	to *v1alpha1.ControllerRevision, patch []byte, err error,
) {
	for i := range all {
		if u.toRevision != "" && all[i].Name != u.toRevision {
			continue
		}
		if patch, err = backTo(parent, &all[i], &all[0]); err != nil {
			return nil, nil, err
		}
		if u.toRevision != "" || differs(patch) {
			return &all[i], patch, nil
		}
	}
	if u.toRevision != "" {
		return nil, nil, fmt.Errorf("the parent has no ControllerRevision %q", u.toRevision)
	}
	return nil, nil, errors.New("no earlier version to roll back to: the last rolling update is done; " +
		"to undo it, apply the earlier parent")
}

// differs reports whether a JSON merge patch changes anything.
func differs(patch []byte) bool { return string(patch) != "{}" }

// backTo returns the JSON merge patch that restores the fields of a parent that a revision records.
func backTo(parent *unstructured.Unstructured, revision, current *v1alpha1.ControllerRevision) ([]byte, error) {
	raw, err := parent.MarshalJSON()
	if err != nil {
		return nil, err
	}
	now, err := object.Parse(raw)
	if err != nil {
		return nil, err
	}
	then, err := revisions.Restore(now, revision, revisions.Recorded(revision, current))
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(now.JSON(), then.JSON())
}
