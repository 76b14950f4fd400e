// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/children"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// showParent prints a parent as a tree: the controllers that are for it, and its children.
func (s *status) showParent(ctx context.Context, find *lookup.Lookup, only *lookup.Controller, argument string) error {
	parent, err := find.ParentIn(only, argument)
	if err != nil {
		return err
	}
	client, err := s.DynamicClient()
	if err != nil {
		return err
	}
	object, err := client.Resource(parent.Mapping.Resource).Namespace(parent.Namespace).Get(ctx, parent.Name, metav1.GetOptions{})
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
		return errors.New("no controller has this parent: their selectors or namespaces leave it out, or they do not run")
	}
	if s.printer != nil {
		return printItems(&s.output, rows)
	}
	return s.showTree(ctx, find, client, object, rows)
}

// rowsOf returns the Syncs of a parent, those of CompositeControllers first. Those of a cluster-scoped parent are in the server's
// namespace, which is not known here.
func (c *cluster) rowsOf(ctx context.Context, parent *unstructured.Unstructured) ([]v1alpha1.Sync, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	list, err := client.MetacontrollerV1alpha1().Syncs(parent.GetNamespace()).List(ctx, metav1.ListOptions{FieldSelector: v1alpha1.FieldParent + "=" + parent.GetName()})
	if err != nil {
		return nil, fmt.Errorf("read how its controllers do: %w", err)
	}
	rows := slices.DeleteFunc(list.Items, func(row v1alpha1.Sync) bool { return row.Spec.Parent.UID != parent.GetUID() })
	slices.SortFunc(rows, func(a, b v1alpha1.Sync) int {
		return cmp.Or(cmp.Compare(a.Spec.Controller.Kind, b.Spec.Controller.Kind), cmp.Compare(a.Spec.Controller.Name, b.Spec.Controller.Name))
	})
	return rows, nil
}

// showTree prints the tree, and below it what is to be said of the syncs.
func (s *status) showTree(ctx context.Context, find *lookup.Lookup, client dynamic.Interface, parent *unstructured.Unstructured, rows []v1alpha1.Sync) error {
	root := &node{name: objectName(parent, ""), age: age(parent.GetCreationTimestamp()), state: s.style().Warning(children.Trouble(parent))}
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

// branch returns a controller in the tree of a parent, with the children below it, and why some of them are not there.
func (s *status) branch(ctx context.Context, find *lookup.Lookup, client dynamic.Interface, parent *unstructured.Unstructured, row *v1alpha1.Sync) (*node, []error) {
	of := &node{name: row.Spec.Controller.Kind + " " + row.Spec.Controller.Name, age: ago(row.Status.LastSyncTime), state: s.stateInTree(row)}
	controller, err := find.Controller(ctx, row.Spec.Controller.Kind+"/"+row.Spec.Controller.Name)
	if err != nil {
		return of, []error{fmt.Errorf("its children are not shown: %w", err)}
	}
	found, problems := children.Of(ctx, client, controller, parent)
	for i := range found {
		of.below = append(of.below, &node{
			name:  objectName(&found[i], parent.GetNamespace()),
			age:   age(found[i].GetCreationTimestamp()),
			state: s.style().Warning(children.Trouble(&found[i])),
		})
	}
	for _, step := range failedSteps(row) {
		of.below = append(of.below, &node{
			name:  step.Kind + " " + step.Name,
			age:   "<none>",
			state: s.style().Bad(step.Operation + " failed: " + text.OneLine(step.Error)),
		})
	}
	return of, problems
}

// stateInTree returns the state of a parent in a line of its tree. Warnings are below the tree.
func (s *status) stateInTree(row *v1alpha1.Sync) string {
	text := string(row.Status.State)
	if row.Status.Children != nil {
		text += fmt.Sprintf(", %d of %d children as wanted", row.Status.Children.AsWanted, row.Status.Children.Wanted)
	}
	if len(row.Status.Warnings) == 0 || row.Status.State != v1alpha1.SyncStateSynced {
		text += reason(row)
	}
	return s.colored(row, text)
}

// failedSteps returns the steps of the last sync that failed to make an object.
func failedSteps(row *v1alpha1.Sync) (failed []v1alpha1.SyncStep) {
	if row.Status.LastSteps == nil {
		return nil
	}
	for _, step := range row.Status.LastSteps.Steps {
		if step.Result == v1alpha1.SyncStepFailed {
			failed = append(failed, step)
		}
	}
	return failed
}

// objectName returns the name of an object, with its namespace if that is another one.
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

// rows returns the node and those below it as rows of a table. The name begins with the branch to it, and those below are behind
// an indent.
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
