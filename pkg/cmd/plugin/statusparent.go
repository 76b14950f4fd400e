// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// showParent prints a tree of a parent, its controllers and its children.
func (s *status) showParent(ctx context.Context, find *lookup.Lookup, only *lookup.Controller, argument string) error {
	parent, err := find.ParentIn(only, argument)
	if err != nil {
		return err
	}
	client, err := s.DynamicClient()
	if err != nil {
		return err
	}
	object, err := client.Resource(parent.Mapping.Resource).Namespace(parent.Namespace).Get(ctx, parent.Name,
		metav1.GetOptions{})
	if err != nil {
		return err
	}
	rows, err := s.rowsOf(ctx, object)
	if err != nil {
		return err
	}
	if only != nil {
		rows = slices.DeleteFunc(rows, func(row v1alpha1.Sync) bool { return row.Spec.Controller != only.Reference() })
	}
	if len(rows) == 0 {
		return s.whyNoController(ctx, find, only, parent, object)
	}
	if s.printer != nil {
		return printItems(&s.output, rows)
	}
	if err := s.showTree(ctx, find, client, object, rows); err != nil || only != nil {
		return err
	}
	return s.showIdle(ctx, find, parent.Mapping.Resource.GroupResource(), rows)
}

// showIdle prints which other controllers of the type of a parent do not run, and why. It is not known whether they
// select the parent.
func (s *status) showIdle(
	ctx context.Context, find *lookup.Lookup, resource schema.GroupResource, rows []v1alpha1.Sync,
) error {
	all, err := find.Controllers(ctx)
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, one := range all {
		why := whyNotRunning(one)
		isShown := func(row v1alpha1.Sync) bool { return row.Spec.Controller == one.Reference() }
		if why == "" || !one.IsFor(resource) || slices.ContainsFunc(rows, isShown) {
			continue
		}
		note := s.style().Warning(fmt.Sprintf("%s may also handle it: %s", one, why))
		if _, err := fmt.Fprintln(s.streams.Out, note); err != nil {
			return err
		}
	}
	return nil
}

// whyNotRunning returns why a controller does not run; empty if it runs.
func whyNotRunning(one *lookup.Controller) string {
	conditions := one.GetStatus().Conditions
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	synced := meta.FindStatusCondition(conditions, v1alpha1.ConditionParentsSynced)
	switch {
	case ready == nil || ready.Reason == v1alpha1.ReasonNotObservedYet:
		return "it does not run: the server has not seen it yet"
	case synced == nil || synced.Reason == v1alpha1.ReasonNotRunning:
		return "it does not run: " + withReason(*ready)
	}
	return ""
}

// rowsOf returns the Syncs of a parent, with CompositeControllers first. Those of a cluster-scoped parent are in the
// server's namespace, which is not known here.
func (c *cluster) rowsOf(ctx context.Context, parent *unstructured.Unstructured) ([]v1alpha1.Sync, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	list, err := client.MetacontrollerV1alpha1().Syncs(parent.GetNamespace()).List(ctx,
		metav1.ListOptions{FieldSelector: v1alpha1.FieldParent + "=" + parent.GetName()})
	if err != nil {
		return nil, fmt.Errorf("read the status of its controllers: %w", err)
	}
	rows := slices.DeleteFunc(list.Items, func(row v1alpha1.Sync) bool { return row.Spec.Parent.UID != parent.GetUID() })
	slices.SortFunc(rows, func(a, b v1alpha1.Sync) int {
		return cmp.Or(cmp.Compare(a.Spec.Controller.Kind, b.Spec.Controller.Kind),
			cmp.Compare(a.Spec.Controller.Name, b.Spec.Controller.Name))
	})
	return rows, nil
}

// showTree prints the tree, followed by the problems and warnings of the syncs.
func (s *status) showTree(ctx context.Context, find *lookup.Lookup, client dynamic.Interface,
	parent *unstructured.Unstructured, rows []v1alpha1.Sync) error {
	root := &node{name: objectName(parent, ""), age: age(parent.GetCreationTimestamp()),
		state: s.style().Warning(printing.Trouble(parent))}
	var notes []string
	for i := range rows {
		below, problems := s.branch(ctx, find, client, parent, &rows[i])
		root.below = append(root.below, below)
		for _, problem := range problems {
			notes = append(notes, problem.Error())
		}
		for _, warning := range rows[i].Status.Warnings {
			notes = append(notes, s.style().Warning("warning "+warning.Reason+": "+warning.Message))
		}
	}
	if err := printTable(s.streams.Out, append([][]string{{"OBJECT", "AGE", "STATE"}}, root.rows("", "")...)); err != nil {
		return err
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(s.streams.Out, note); err != nil {
			return err
		}
	}
	return nil
}

// branch returns the node of a controller with its children, and the errors about children that could not be read.
func (s *status) branch(ctx context.Context, find *lookup.Lookup, client dynamic.Interface,
	parent *unstructured.Unstructured, row *v1alpha1.Sync) (*node, []error) {
	of := &node{
		name: row.Spec.Controller.Kind + " " + row.Spec.Controller.Name, age: ago(row.Status.LastSyncTime),
		state: s.stateInTree(row, s.answeredBefore(ctx, row)),
	}
	controller, err := find.Controller(ctx, row.Spec.Controller.Kind+"/"+row.Spec.Controller.Name)
	if err != nil {
		return of, []error{fmt.Errorf("its children are not shown: %w", err)}
	}
	found, problems := lookup.Children(ctx, client, controller, parent)
	failed := failedSteps(row)
	for i := range found {
		below := &node{
			name:  objectName(&found[i], parent.GetNamespace()),
			age:   age(found[i].GetCreationTimestamp()),
			state: s.style().Warning(printing.Trouble(&found[i])),
		}
		failed = slices.DeleteFunc(failed, func(step v1alpha1.SyncStep) bool {
			isOfChild := isAbout(&step, &found[i])
			if isOfChild {
				below.state = s.failure(row, &step)
			}
			return isOfChild
		})
		of.below = append(of.below, below)
	}
	for _, step := range failed {
		of.below = append(of.below, &node{name: step.Kind + " " + step.Name, age: "<none>", state: s.failure(row, &step)})
	}
	return of, problems
}

// isAbout reports whether a step is about an object.
func isAbout(step *v1alpha1.SyncStep, of *unstructured.Unstructured) bool {
	return step.Kind == of.GetKind() && step.Namespace == of.GetNamespace() && step.Name == of.GetName()
}

// failure returns that a step failed, and the reason, unless the row of the controller has the error.
func (s *status) failure(row *v1alpha1.Sync, step *v1alpha1.SyncStep) string {
	said := step.Operation + " failed"
	if !strings.Contains(row.Status.Message, step.Error) {
		said += ": " + text.OneLine(step.Error)
	}
	return s.style().Bad(said)
}

// stateInTree returns the state of a parent for its tree. then says when the numbers were valid, if they are outdated.
// Warnings are below the tree.
func (s *status) stateInTree(row *v1alpha1.Sync, then string) string {
	text := string(row.Status.State)
	if row.Status.Children != nil {
		text += fmt.Sprintf(", %d of %d children up to date", row.Status.Children.AsWanted, row.Status.Children.Wanted) + then
	}
	if len(row.Status.Warnings) == 0 || row.Status.State != v1alpha1.SyncStateSynced {
		text += reason(row)
	}
	return s.colored(row, text)
}

// answeredBefore returns when the hook last responded, if its last call about the parent failed. The number of children
// is from that response. It is empty otherwise, and if the user must not list HookCalls or the server does not keep the
// calls.
func (s *status) answeredBefore(ctx context.Context, row *v1alpha1.Sync) string {
	client, err := s.client()
	if row.Status.State != v1alpha1.SyncStateFailing || row.Status.Children == nil || err != nil {
		return ""
	}
	of := fields.Set{
		v1alpha1.FieldController: row.Spec.Controller.Name, v1alpha1.FieldKind: row.Spec.Controller.Kind,
		v1alpha1.FieldParent: row.Spec.Parent.Name,
	}
	options := metav1.ListOptions{FieldSelector: of.AsSelector().String()}
	calls, err := client.MetacontrollerV1alpha1().HookCalls(row.Namespace).List(ctx, options)
	if err != nil {
		return ""
	}
	var last, answered *v1alpha1.HookCall
	for i := range calls.Items {
		call := &calls.Items[i]
		if call.Spec.Parent.UID != row.Spec.Parent.UID || call.Spec.Revision != "" {
			continue
		}
		isLater := func(than *v1alpha1.HookCall) bool {
			return than == nil || call.Status.StartTime.After(than.Status.StartTime.Time)
		}
		if isLater(last) {
			last = call
		}
		if call.Spec.Hook != "customize" && call.Status.Result == v1alpha1.HookCallSucceeded && isLater(answered) {
			answered = call
		}
	}
	switch {
	case last == nil || last.Status.Result == v1alpha1.HookCallSucceeded:
		return ""
	case answered == nil:
		return " when the hook last answered, before the recorded calls"
	}
	return " when the hook last answered, " + ago(&answered.Status.StartTime) + " ago"
}

// whyNoController returns an error that explains why no controller has the parent: no controller of its type runs, or
// none selects the parent. If the object is itself a child, the error names its parent.
func (s *status) whyNoController(
	ctx context.Context, find *lookup.Lookup, only *lookup.Controller, of *lookup.Parent,
	object *unstructured.Unstructured,
) error {
	resource, controllers := of.Mapping.Resource.GroupResource(), []*lookup.Controller{only}
	if only == nil {
		all, err := find.Controllers(ctx)
		if err != nil {
			return err
		}
		controllers = slices.DeleteFunc(all, func(one *lookup.Controller) bool { return !one.IsFor(resource) })
	}
	var reasons []string
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		group := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		command := "kubectl metacontroller status " + strings.ToLower(group.String()) + "/" + owner.Name
		if namespace := object.GetNamespace(); namespace != "" {
			command += " -n " + namespace
		}
		reasons = append(reasons, fmt.Sprintf("%s %s controls it: %s", owner.Kind, owner.Name, command))
	}
	for _, one := range controllers {
		reason := cmp.Or(whyNotRunning(one), "its selectors or namespaces exclude it")
		reasons = append(reasons, one.String()+": "+reason)
	}
	if len(controllers) == 0 {
		reasons = append(reasons, "no controller handles "+resource.String())
	}
	return fmt.Errorf("no controller handles %s: %s", objectName(object, ""), strings.Join(reasons, "; "))
}

// failedSteps returns the failed steps of the last sync.
func failedSteps(row *v1alpha1.Sync) (failed []v1alpha1.SyncStep) {
	steps, last := row.Status.LastSteps, row.Status.LastSyncTime
	if steps == nil || last == nil || !steps.Time.Equal(last) {
		return nil // they are those of an earlier sync
	}
	for _, step := range row.Status.LastSteps.Steps {
		if step.Result == v1alpha1.SyncStepFailed {
			failed = append(failed, step)
		}
	}
	return failed
}

// objectName returns the kind and name of an object, with its namespace if that differs from namespace.
func objectName(of *unstructured.Unstructured, namespace string) string {
	if of.GetNamespace() == namespace {
		return of.GetKind() + " " + of.GetName()
	}
	return of.GetKind() + " " + of.GetNamespace() + "/" + of.GetName()
}

// node is an object in a tree.
type node struct {
	name, age, state string
	below            []*node
}

// rows returns the node and those below it as rows of a table. The name begins with the branch to it, and those below
// are behind an indent.
func (n *node) rows(branch, indent string) [][]string {
	all := [][]string{{branch + n.name, n.age, n.state}}
	for i, below := range n.below {
		if i == len(n.below)-1 {
			all = append(all, below.rows(indent+"└── ", indent+"    ")...)
		} else {
			all = append(all, below.rows(indent+"├── ", indent+"│   ")...)
		}
	}
	return all
}
