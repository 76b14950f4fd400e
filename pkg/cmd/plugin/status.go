// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/pager"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// newStatus returns the command that shows the status of controllers and parents.
func newStatus(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	s := &status{cluster: c, output: newOutput(streams)}
	command := &cobra.Command{
		Use:   "status [CONTROLLER] [PARENT ...]",
		Short: "Show the status of controllers or parents",
		Long: `Show the status of controllers or parents.

For a parent, print a tree of its controllers and children, with the age and the problems of each. For a controller,
print its conditions, and the parents that are not synced or have warnings: in all namespaces, unless --namespace is
set. Without arguments, list all controllers.`,
		Example: `  # A Website with its children.
  kubectl metacontroller status website/front -n shop

  # A controller, and its parents that fail or wait.
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
	s.addAllNamespaces(command)
	s.output.addFlags(command)
	return command
}

// status runs the command.
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
	controller, parents, err := s.split(ctx, find, args)
	if err != nil {
		return err
	}
	if len(parents) == 0 {
		return s.showController(ctx, controller)
	}
	return s.inList(len(parents) > 1 || controller == nil, func() error {
		for i, argument := range parents {
			if i > 0 && s.printer == nil {
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
	if s.printer != nil {
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
			controller.Short(), number(counts.Total), number(counts.Synced), number(counts.Failing), number(counts.Paused),
			age(controller.GetCreationTimestamp()),
			s.stateOf(controller),
		})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.streams.ErrOut, "No controllers found.")
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

// shownParents bounds the parents of a controller that are listed.
const shownParents = 20

// showController prints the status of a controller, and its parents with problems.
func (s *status) showController(ctx context.Context, controller *lookup.Controller) error {
	if s.printer != nil {
		return s.print(controller.Object)
	}
	rows := [][]string{{controller.String(), s.stateOf(controller)}, {"  age", age(controller.GetCreationTimestamp())}}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{"  " + name, value})
		}
	}
	add("parents", s.parents(controller))
	add("children", lookup.TypeNames(controller.ChildTypes()))
	for _, name := range []string{"sync", "finalize", "customize"} {
		add(name+" hook", addressOf(controller.Hook(name)))
	}
	for _, condition := range controller.GetStatus().Conditions {
		if v1alpha1.IsProblem(condition) && condition.Type != v1alpha1.ConditionReady {
			add(condition.Type, s.style().Warning(withReason(condition)))
		}
	}
	if err := printTable(s.streams.Out, rows); err != nil {
		return err
	}
	return s.showTroubled(ctx, controller)
}

// stateOf returns the state of a controller as one line.
func (s *status) stateOf(controller *lookup.Controller) string {
	conditions := controller.GetStatus().Conditions
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch paused := meta.FindStatusCondition(conditions, v1alpha1.ConditionPaused); {
	case controller.GetDeletionTimestamp() != nil:
		return s.style().Warning("is being deleted")
	case paused != nil && paused.Status == metav1.ConditionTrue && controller.IsPaused():
		return s.style().Warning("Paused since " + age(paused.LastTransitionTime))
	case ready == nil || ready.Reason == v1alpha1.ReasonNotObservedYet:
		return s.style().Warning("not seen yet")
	case ready.Status == metav1.ConditionTrue:
		return s.style().Good("Ready")
	case ready.Status == metav1.ConditionUnknown:
		return s.style().Warning(withReason(*ready))
	default:
		return s.style().Bad("not ready: " + withReason(*ready))
	}
}

func withReason(condition metav1.Condition) string {
	return condition.Reason + ": " + text.OneLine(condition.Message)
}

// parents returns the types of the parents, and their number by state.
func (s *status) parents(controller *lookup.Controller) string {
	text := lookup.TypeNames(controller.ParentTypes())
	counts := parentCounts(controller)
	parts := []string{}
	for _, part := range []struct {
		count int32
		words string
	}{
		{counts.Synced, "synced"}, {counts.Failing, "failing"}, {counts.Paused, "paused"}, {counts.Warned, "with a warning"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.words))
		}
	}
	text += fmt.Sprintf(": %d", counts.Total)
	if len(parts) > 0 {
		text += ", of which " + strings.Join(parts, ", ")
	}
	return text
}

// addressOf returns the redacted URL of a hook, or that it is inline; empty if it is not called.
func addressOf(hook *v1alpha1.Hook) string {
	switch {
	case !hook.IsCalled():
		return ""
	case hook.Webhook == nil:
		return "inline"
	}
	address, err := hook.Webhook.Address().Parse()
	if err != nil {
		return "cannot be called: " + err.Error()
	}
	return address.Redacted()
}

// showTroubled prints the parents that are not synced or have warnings.
func (s *status) showTroubled(ctx context.Context, controller *lookup.Controller) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	rows := [][]string{{"PARENT", "CHILDREN", "LAST", "STATE"}}
	more := 0
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.MetacontrollerV1alpha1().Syncs(s.namespaceOrAll()).List(ctx, options)
	})
	options := metav1.ListOptions{FieldSelector: selectorOf(controller)}
	err = pages.EachListItem(ctx, options, func(item runtime.Object) error {
		row := item.(*v1alpha1.Sync)
		switch {
		case row.Status.State == v1alpha1.SyncStateSynced && len(row.Status.Warnings) == 0:
		case len(rows) > shownParents:
			more++
		default:
			rows = append(rows, []string{
				parentName(&row.Spec.Parent), asWanted(row.Status.Children), ago(row.Status.LastSyncTime), s.stateOfSync(row),
			})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the parents: %w", err)
	}
	if len(rows) == 1 {
		return nil
	}
	if _, err := fmt.Fprintln(s.streams.Out); err != nil {
		return err
	}
	if err := printTable(s.streams.Out, rows); err != nil {
		return err
	}
	if more > 0 {
		_, err = fmt.Fprintf(s.streams.Out, "... and %d more: kubectl get syncs -A --field-selector %s\n",
			more, selectorOf(controller))
	}
	return err
}

// selectorOf selects the Syncs of a controller.
func selectorOf(controller *lookup.Controller) string {
	return "controller=" + controller.GetName() + ",kind=" + controller.Kind
}

// stateOfSync returns the state of a parent as one line.
func (s *status) stateOfSync(row *v1alpha1.Sync) string {
	return s.colored(row, string(row.Status.State)+reason(row))
}

// reason returns the text that follows the state of a parent: a colon and the message of its row, or nothing.
func reason(row *v1alpha1.Sync) string {
	if message := cmp.Or(row.Status.Message, row.Status.WaitsFor); message != "" {
		return ": " + text.OneLine(message)
	}
	return ""
}

// colored returns a text in the color of the state of a parent.
func (s *status) colored(row *v1alpha1.Sync, text string) string {
	switch row.Status.State {
	case v1alpha1.SyncStateSynced:
		if len(row.Status.Warnings) > 0 {
			return s.style().Warning(text)
		}
		return s.style().Good(text)
	case v1alpha1.SyncStateFailing:
		return s.style().Bad(text)
	default:
		return s.style().Warning(text)
	}
}

func parentName(of *v1alpha1.ParentReference) string {
	if of.Namespace == "" {
		return of.Kind + " " + of.Name
	}
	return of.Kind + " " + of.Namespace + "/" + of.Name
}

func asWanted(of *v1alpha1.SyncChildren) string {
	if of == nil {
		return "<unknown>"
	}
	return fmt.Sprintf("%d/%d", of.AsWanted, of.Wanted)
}

func number(of int32) string { return strconv.Itoa(int(of)) }

// age returns the time since at, as kubectl prints it.
func age(at metav1.Time) string {
	if at.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(at.Time))
}

func ago(at *metav1.MicroTime) string {
	if at == nil {
		return "<none>"
	}
	return duration.HumanDuration(time.Since(at.Time))
}
