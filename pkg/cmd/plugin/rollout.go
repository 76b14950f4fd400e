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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

// newRollout returns the command with what is done with rolling updates.
func newRollout(c *cluster, streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:     "rollout",
		GroupID: groupAct,
		Short:   "See how far the rolling update of a parent is, or take it back",
		Long:    "See how far the rolling update of a parent is, or take it back.",
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddGroup(&cobra.Group{ID: groupAct, Title: "Commands:"})
	command.AddCommand(newRolloutStatus(c, streams), newRolloutUndo(c, streams))
	return command
}

// newRolloutStatus returns the command that shows how far a rollout is.
func newRolloutStatus(c *cluster, streams Streams) *cobra.Command {
	r := &rolloutStatus{rollout: rollout{cluster: c, output: output{streams: streams}}}
	command := &cobra.Command{
		Use:     "status PARENT",
		GroupID: groupAct,
		Short:   "Show how far a rolling update is, and wait until it is done",
		Long: `Show how far a rolling update is, and wait until it is done.

Each version of the parent that children are still at is a ControllerRevision. The update is done when all children are at the
present version, and the parent is synced. With -o, the ControllerRevisions are printed: when the update is done, or at once with
--watch=false.`,
		Example: `  # Wait until all children of a CatSet have the new template.
  kubectl metacontroller rollout status catset/web

  # Only look.
  kubectl metacontroller rollout status catset/web --watch=false`,
		Args:              oneArg("a parent, such as catset/web"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error {
			if err := r.validate(command); err != nil {
				return err
			}
			return r.run(command.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.BoolVarP(&r.watch, "watch", "w", true, "Wait until the update is done.")
	flags.DurationVar(&r.timeout, "timeout", 0, "How long to wait, such as 5m. Zero is as long as it takes.")
	r.output.addFlags(command, "json", "yaml", "name")
	return command
}

// rollout is what the commands have in common.
type rollout struct {
	*cluster
	output
}

// rolloutStatus is the command under way.
type rolloutStatus struct {
	rollout
	watch   bool
	timeout time.Duration
}

// lookInterval is how often it is looked how far a rollout is.
const lookInterval = time.Second

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
		ctx, cancel = context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("the rolling update is not done after %s", r.timeout))
		defer cancel()
	}
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for said := ""; ; {
		seen, err := r.look(ctx, parent)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if r.format == "" && seen.text != said {
			if _, err := fmt.Fprint(r.streams.Out, seen.text); err != nil {
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
	if r.format == "" {
		return nil
	}
	return r.inList(true, func() error { return printItems(&r.output, revisions) })
}

// progressOfRollout is how far a rollout is.
type progressOfRollout struct {
	done      bool
	text      string
	revisions []v1alpha1.ControllerRevision
}

// look returns how far the rollout is.
func (r *rolloutStatus) look(ctx context.Context, of *lookup.Parent) (*progressOfRollout, error) {
	parent, revisions, err := r.revisionsOf(ctx, of)
	if err != nil {
		return nil, err
	}
	rows, err := r.rowsOf(ctx, parent)
	if err != nil {
		return nil, err
	}
	name := nameOf(of.Mapping.GroupVersionKind.GroupKind(), of.Name)
	state, synced := "", true
	for _, row := range rows {
		if row.Spec.Controller.Kind != lookup.Composite {
			continue
		}
		synced = row.Status.State == v1alpha1.SyncStateSynced && row.Status.ObservedGeneration == parent.GetGeneration()
		state = string(row.Status.State)
		if row.Status.Message != "" {
			state += ": " + row.Status.Message
		}
	}
	behind := 0
	for i := range revisions {
		if !isCurrent(&revisions[i]) {
			behind += childrenAt(&revisions[i])
		}
	}
	seen := &progressOfRollout{done: behind == 0 && synced, revisions: revisions}
	switch {
	case seen.done && len(revisions) == 0:
		seen.text = name + " has no rolling update: no ControllerRevision belongs to it\n"
	case seen.done:
		seen.text = name + " is rolled out\n"
	default:
		seen.text = fmt.Sprintf("%s: %d of %d children are at the present version; %s\n", name, total(revisions)-behind, total(revisions), state)
	}
	return seen, nil
}

func total(revisions []v1alpha1.ControllerRevision) (children int) {
	for i := range revisions {
		children += childrenAt(&revisions[i])
	}
	return children
}

// revisionsOf returns a parent and its ControllerRevisions, the current one first and the others by age.
func (r *rollout) revisionsOf(ctx context.Context, of *lookup.Parent) (*unstructured.Unstructured, []v1alpha1.ControllerRevision, error) {
	client, err := r.objects()
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

func childrenAt(revision *v1alpha1.ControllerRevision) (count int) {
	for _, group := range revision.Children {
		count += len(group.Names)
	}
	return count
}

var errNoEarlierVersion = errors.New("no children are at an earlier version of it: there is nothing to go back to")
