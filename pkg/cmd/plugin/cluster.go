// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
)

// cluster is the cluster that the flags select, as in kubectl. It sends no requests before they are needed.
type cluster struct {
	cmdutil.Factory
	configFlags *genericclioptions.ConfigFlags
	// warnings prints each warning of the cluster once.
	warnings      rest.WarningHandler
	allNamespaces bool
}

func newCluster(streams genericiooptions.IOStreams) *cluster {
	flags := genericclioptions.NewConfigFlags(true).WithWarningPrinter(streams)
	c := &cluster{
		Factory: cmdutil.NewFactory(flags), configFlags: flags,
		warnings: escapedWarnings{rest.NewWarningWriter(streams.ErrOut, rest.WarningWriterOptions{
			Deduplicate: true, Color: printers.AllowsColorOutput(streams.ErrOut),
		})},
	}
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.UserAgent = "kubectl-metacontroller"
		config.QPS = -1 // the cluster's priority and fairness bound it
		config.WarningHandler = c.warnings
		return config
	}
	return c
}

// escapedWarnings escapes the control characters in warnings.
type escapedWarnings struct{ rest.WarningHandler }

// HandleWarningHeader implements rest.WarningHandler.
func (w escapedWarnings) HandleWarningHeader(code int, agent, text string) {
	w.WarningHandler.HandleWarningHeader(code, agent, printing.Escape(text))
}

// addFlags adds the flags of kubectl that select the cluster, with their completions.
func (c *cluster) addFlags(command *cobra.Command) {
	c.configFlags.AddFlags(command.PersistentFlags())
	for flag, names := range map[string]func() []string{
		"namespace": func() []string { return c.objectNames("namespaces") },
		"context":   func() []string { return slices.Sorted(maps.Keys(c.rawConfig().Contexts)) },
		"cluster":   func() []string { return slices.Sorted(maps.Keys(c.rawConfig().Clusters)) },
		"user":      func() []string { return slices.Sorted(maps.Keys(c.rawConfig().AuthInfos)) },
	} {
		complete := func(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return startingWith(toComplete, names()), cobra.ShellCompDirectiveNoFileComp
		}
		completeFlag(command, flag, complete)
	}
}

// rawConfig returns the kubeconfig, for completions; it is empty if it cannot be read.
func (c *cluster) rawConfig() clientcmdapi.Config {
	config, err := c.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		cobra.CompErrorln(err.Error())
	}
	return config
}

// objectNames returns the names of the objects of a type, for completions. kubectl's own completions keep their
// factory in a package variable.
func (c *cluster) objectNames(resource string) (names []string) {
	namespace, _, err := c.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil
	}
	found, err := c.NewBuilder().Unstructured().NamespaceParam(namespace).DefaultNamespace().
		ResourceTypeOrNameArgs(true, resource).ContinueOnError().Flatten().Do().Infos()
	if err != nil {
		cobra.CompErrorln(err.Error())
	}
	for _, one := range found {
		names = append(names, one.Name)
	}
	return names
}

func startingWith(prefix string, names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// addAllNamespaces adds -A to a command that uses all namespaces by default.
func (c *cluster) addAllNamespaces(command *cobra.Command) {
	command.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false,
		"Use all namespaces, regardless of --namespace. This is the default if no parent is named.")
}

// namespaceOrAll returns the namespace of the flag; empty for all namespaces.
func (c *cluster) namespaceOrAll() string {
	if c.allNamespaces {
		return ""
	}
	return *c.configFlags.Namespace
}

// client returns a client of the API of metacontroller-apiserver.
func (c *cluster) client() (versioned.Interface, error) {
	config, err := c.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return versioned.NewForConfig(config)
}

// patch changes an object by a JSON merge patch, and returns the result. In a dry run, the cluster checks the change
// without storing it.
func (c *cluster) patch(
	ctx context.Context, of schema.GroupVersionResource, namespace, name string, patch []byte, dryRun bool,
) (*unstructured.Unstructured, error) {
	client, err := c.DynamicClient()
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: "kubectl-metacontroller"}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return client.Resource(of).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, options)
}

// lookup returns a Lookup of controllers and parents in the cluster.
func (c *cluster) lookup() (*lookup.Lookup, error) { return lookup.New(c) }

// split returns the controller that the first argument names, or nil if it names a parent, and the parents.
func (c *cluster) split(
	ctx context.Context, find *lookup.Lookup, args []string,
) (controller *lookup.Controller, parents []string, err error) {
	controller, parents, err = find.Split(ctx, args)
	if err == nil && len(parents) > 0 && c.allNamespaces {
		err = errors.New("a parent cannot be selected by name across all namespaces: use --namespace")
	}
	return controller, parents, err
}

// completeFlag sets the completion of a flag that the command has.
func completeFlag(command *cobra.Command, name string, complete cobra.CompletionFunc) {
	_ = command.RegisterFlagCompletionFunc(name, complete) // it fails only for unknown flags
}

// oneOf completes a flag with fixed values.
func oneOf(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// completeSubjects completes arguments: an optional controller first, and parents.
func (c *cluster) completeSubjects(
	command *cobra.Command, args []string, toComplete string,
) (names []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 || !lookup.IsController(args[0]) {
		return c.completeObjects(command, args, toComplete)
	}
	find, err := c.lookup()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	controller, err := find.Controller(command.Context(), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, rule := range controller.ParentTypes() {
		names = append(names, startingWith(toComplete, c.objectNames(rule.GroupResource().String()))...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeObjects completes arguments that are controllers, or parents in the form TYPE/NAME.
func (c *cluster) completeObjects(
	command *cobra.Command, _ []string, toComplete string,
) (names []string, _ cobra.ShellCompDirective) {
	if of, name, typed := strings.Cut(toComplete, "/"); typed {
		for _, found := range startingWith(name, c.objectNames(of)) {
			names = append(names, of+"/"+found)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	find, err := c.lookup()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	controllers, err := find.Controllers(command.Context())
	if err != nil {
		cobra.CompErrorln(err.Error())
	}
	for _, controller := range controllers {
		if strings.HasPrefix(controller.Short(), toComplete) {
			names = append(names, cobra.CompletionWithDesc(controller.Short(), controller.Kind))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeCalls completes the name of a call, in all namespaces unless --namespace is set.
func (c *cluster) completeCalls(
	command *cobra.Command, args []string, toComplete string,
) (names []string, _ cobra.ShellCompDirective) {
	client, err := c.client()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	in := client.MetacontrollerV1alpha1().HookCalls(c.namespaceOrAll())
	calls, err := in.List(command.Context(), metav1.ListOptions{})
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for i := range calls.Items {
		if name, of := calls.Items[i].Name, &calls.Items[i].Spec; strings.HasPrefix(name, toComplete) {
			about := of.Hook + " of " + of.Controller.Name + ", " + of.Parent.Kind + " " + of.Parent.Name
			names = append(names, cobra.CompletionWithDesc(name, about))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
