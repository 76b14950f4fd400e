// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

const (
	// completionTimeout is how long the cluster may take to tell the names for a completion.
	completionTimeout = 3 * time.Second
	// completionLimit is how many names a completion has of objects that there may be many of.
	completionLimit = 500
)

// completeFlag has the values of an option completed. The command has the option.
func completeFlag(command *cobra.Command, name string, completion cobra.CompletionFunc) {
	_ = command.RegisterFlagCompletionFunc(name, completion) // it fails only for options that are not there
}

// oneOf completes an option that is one of these.
func oneOf(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// completeSubjects completes arguments of which the first may be a controller, and the others are its parents.
func (c *cluster) completeSubjects(command *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return c.completeControllers(command, args, toComplete)
	}
	return c.complete(command, toComplete, func(ctx context.Context) ([]cobra.Completion, error) { return c.parentNames(ctx, args[0]) })
}

// completeControllers completes arguments that are controllers.
func (c *cluster) completeControllers(command *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.complete(command, toComplete, c.controllerNames)
}

// completeCalls completes an argument that is a call.
func (c *cluster) completeCalls(command *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.complete(command, toComplete, c.callNames)
}

// completeNamespaces completes --namespace.
func (c *cluster) completeNamespaces(command *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.complete(command, toComplete, c.namespaceNames)
}

// complete returns those names that begin like what was typed. There are none if the cluster does not tell them.
func (c *cluster) complete(command *cobra.Command, toComplete string, names func(context.Context) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
	defer cancel()
	all, err := names(ctx)
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []cobra.Completion
	for _, name := range all {
		if strings.HasPrefix(name, toComplete) {
			found = append(found, name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func (c *cluster) controllerNames(ctx context.Context) ([]cobra.Completion, error) {
	find, err := c.lookup()
	if err != nil {
		return nil, err
	}
	all, err := find.Controllers(ctx)
	var names []cobra.Completion
	for _, controller := range all {
		names = append(names, cobra.CompletionWithDesc(controller.Short(), controller.Kind))
	}
	return names, err
}

// parentNames returns the parents in the namespace of a controller that an argument names.
func (c *cluster) parentNames(ctx context.Context, argument string) ([]cobra.Completion, error) {
	find, err := c.lookup()
	if err != nil {
		return nil, err
	}
	if !lookup.IsController(argument) {
		return nil, nil
	}
	controller, err := find.Controller(ctx, argument)
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.loader().Namespace()
	if err != nil {
		return nil, err
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	rows, err := client.MetacontrollerV1alpha1().Syncs(namespace).List(ctx, metav1.ListOptions{FieldSelector: selectorOf(controller), Limit: completionLimit})
	if err != nil {
		return nil, err
	}
	var names []cobra.Completion
	for i := range rows.Items {
		names = append(names, cobra.CompletionWithDesc(rows.Items[i].Spec.Parent.Name, rows.Items[i].Spec.Parent.Kind))
	}
	return names, nil
}

func (c *cluster) callNames(ctx context.Context) ([]cobra.Completion, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	calls, err := client.MetacontrollerV1alpha1().HookCalls(c.namespaceOrAll()).List(ctx, metav1.ListOptions{Limit: completionLimit})
	if err != nil {
		return nil, err
	}
	var names []cobra.Completion
	for i := range calls.Items {
		of := &calls.Items[i].Spec
		names = append(names, cobra.CompletionWithDesc(calls.Items[i].Name, of.Hook+" of "+of.Controller.Name+", "+of.Parent.Kind+" "+of.Parent.Name))
	}
	return names, nil
}

func (c *cluster) namespaceNames(ctx context.Context) ([]cobra.Completion, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	all, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: completionLimit})
	if err != nil {
		return nil, err
	}
	var names []cobra.Completion
	for i := range all.Items {
		names = append(names, all.Items[i].Name)
	}
	return names, nil
}
