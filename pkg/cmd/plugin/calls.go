// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

// newCalls returns the command that shows the last calls of hooks.
func newCalls(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	l := &calls{cluster: c, output: newOutput(streams)}
	command := &cobra.Command{
		Use:   "calls [CONTROLLER] [PARENT] | CALL",
		Short: "Show the last calls of hooks, and what was sent and answered",
		Long: `Show the last calls of hooks, and what was sent and answered.

The server keeps a limited number of the last calls of each controller, and those that failed longer. Calls are in the namespace of the
parent. Without a parent, those in all namespaces are listed, unless there is --namespace; the newest comes last. Of a
CALL, by its name in the list, the request and the answer are shown; values of Secrets and credentials are blanked.`,
		Example: `  # The last calls of a controller.
  kubectl metacontroller calls cc/websites

  # Those about a Website that failed.
  kubectl metacontroller calls website/front -n shop --failed

  # What was sent and answered.
  kubectl metacontroller calls 20261124-101500-123456-abcd -n shop`,
		ValidArgsFunction: c.completeSubjects,
		RunE: func(command *cobra.Command, args []string) error {
			if err := l.validate(command); err != nil {
				return err
			}
			if len(args) > 2 {
				return cmdutil.UsageErrorf(command, "give a controller, a parent, both, or a call")
			}
			return l.run(command.Context(), args)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&l.failed, "failed", false, "Show only calls that failed.")
	flags.StringVar(&l.hook, "hook", "", "Show only calls of a hook: sync, finalize or customize.")
	l.addAllNamespaces(command)
	l.output.addFlags(command, "wide")
	return command
}

// calls is the command under way.
type calls struct {
	*cluster
	output
	failed bool
	hook   string
}

func (l *calls) run(ctx context.Context, args []string) error {
	find, err := l.lookup()
	if err != nil {
		return err
	}
	if len(args) == 1 && lookup.NamesCall(args[0]) {
		call, err := l.call(ctx, args[0])
		if err != nil {
			return err
		}
		return l.showCall(call)
	}
	selector, namespace := fields.Set{}, l.namespaceOrAll()
	controller, parents, err := l.split(ctx, find, args)
	if err != nil {
		return err
	}
	if controller != nil {
		selector[v1alpha1.FieldController], selector[v1alpha1.FieldKind] = controller.GetName(), controller.Kind
	}
	if len(parents) == 1 {
		parent, err := find.ParentIn(controller, parents[0])
		if err != nil {
			return err
		}
		selector[v1alpha1.FieldParent], namespace = parent.Name, parent.Namespace
	}
	if l.failed {
		selector[v1alpha1.FieldResult] = string(v1alpha1.HookCallFailed)
	}
	if l.hook != "" {
		selector[v1alpha1.FieldHook] = l.hook
	}
	return l.list(ctx, namespace, selector)
}

// call returns a call by its name. Its namespace is that of the options, or else found by a list.
func (c *cluster) call(ctx context.Context, name string) (*v1alpha1.HookCall, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	namespace := c.namespaceOrAll()
	if namespace == "" {
		found, err := client.MetacontrollerV1alpha1().HookCalls("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			return nil, fmt.Errorf("find the call, without --namespace: %w", err)
		}
		if len(found.Items) == 0 {
			return nil, fmt.Errorf("there is no call %s: it may be too long ago", name)
		}
		namespace = found.Items[0].Namespace
	}
	return client.MetacontrollerV1alpha1().HookCalls(namespace).Get(ctx, name, metav1.GetOptions{})
}

// list prints the calls that are selected.
func (l *calls) list(ctx context.Context, namespace string, selector fields.Set) error {
	client, err := l.client()
	if err != nil {
		return err
	}
	selected := metav1.ListOptions{FieldSelector: selector.AsSelector().String()}
	if l.printer != nil {
		found, err := client.MetacontrollerV1alpha1().HookCalls(namespace).List(ctx, selected)
		if err != nil {
			return err
		}
		return l.inList(true, func() error { return printItems(&l.output, found.Items) })
	}
	raw, err := client.MetacontrollerV1alpha1().RESTClient().Get().NamespaceIfScoped(namespace, namespace != "").Resource("hookcalls").
		VersionedParams(&selected, metav1.ParameterCodec).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
	if err != nil {
		return err
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil {
		return fmt.Errorf("read the answer of the server: %w", err)
	}
	if len(table.Rows) == 0 {
		_, err := fmt.Fprintln(l.streams.ErrOut, "No calls are remembered.")
		return err
	}
	for i := range table.Rows {
		of := &table.Rows[i].Object // it has the namespace
		if of.Object, err = runtime.Decode(unstructured.UnstructuredJSONScheme, of.Raw); err != nil {
			return fmt.Errorf("read the answer of the server: %w", err)
		}
	}
	options := printers.PrintOptions{Wide: *l.printFlags.OutputFormat == "wide", WithNamespace: namespace == ""}
	return printers.NewTablePrinter(options).PrintObj(&table, l.streams.Out)
}

// showCall prints a call with its request and answer.
func (l *calls) showCall(call *v1alpha1.HookCall) error {
	if l.printer != nil {
		return l.print(call)
	}
	style := l.style()
	about := parentName(&call.Spec.Parent)
	if call.Spec.Revision != "" {
		about += " as of ControllerRevision " + call.Spec.Revision
	}
	result := style.Good(string(call.Status.Result))
	if call.Status.Result != v1alpha1.HookCallSucceeded {
		result = style.Bad(string(call.Status.Result))
		if call.Status.Message != "" {
			result += ": " + call.Status.Message
		}
	}
	rows := [][]string{
		{"call", call.Name}, {"controller", call.Spec.Controller.Kind + " " + call.Spec.Controller.Name}, {"about", about},
		{"hook", call.Spec.Hook + " at " + call.Spec.URL}, {"began", call.Status.StartTime.UTC().Format("2006-01-02 15:04:05.000") + " UTC"},
		{"took", call.Status.Duration.Duration.String()}, {"result", result},
	}
	if call.Status.Code != 0 {
		rows = append(rows, []string{"code", number(call.Status.Code)})
	}
	if err := printTable(l.streams.Out, rows); err != nil {
		return err
	}
	return errors.Join(
		printBody(l.streams.Out, style.Heading("request"), call.Status.Request),
		printBody(l.streams.Out, style.Heading("answer"), call.Status.Response),
	)
}

// printBody prints a request or an answer as YAML.
func printBody(to io.Writer, heading string, body *v1alpha1.HookCallBody) error {
	if body == nil {
		return nil
	}
	text := body.Text
	if body.Object != nil {
		formatted, err := yaml.JSONToYAML(body.Object.Raw)
		if err != nil {
			return err
		}
		text = string(formatted)
	}
	if body.Omitted != "" {
		text += "(" + body.Omitted + ")"
	}
	_, err := fmt.Fprintf(to, "\n%s, %d bytes\n%s\n", heading, body.Bytes, indented(strings.TrimSpace(text), "  "))
	return err
}
