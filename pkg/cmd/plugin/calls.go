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
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/localhook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// newCalls returns the command that shows recent calls of hooks.
func newCalls(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	l := &calls{cluster: c, output: newOutput(streams)}
	command := &cobra.Command{
		Use:   "calls [CONTROLLER] [PARENT] | CALL",
		Short: "Show recent calls of hooks, with requests and responses",
		Long: `Show recent calls of hooks, with requests and responses.

The server keeps a limited number of recent calls of each controller, and keeps failed calls longer. A call is in the
namespace of its parent. Without a parent, list the calls in all namespaces, unless --namespace is set; the newest comes
last. With the name of a CALL from the list, print its request and response, without values of Secrets and
credentials.`,
		Example: `  # The recent calls of a controller.
  kubectl metacontroller calls cc/websites

  # The failed calls about a Website.
  kubectl metacontroller calls website/front -n shop --failed

  # The request and the response of a call.
  kubectl metacontroller calls 20261124-101500-123456-abcd -n shop`,
		ValidArgsFunction: c.completeSubjects,
		RunE: func(command *cobra.Command, args []string) error {
			if err := l.validate(command); err != nil {
				return err
			}
			if len(args) > 2 {
				return cmdutil.UsageErrorf(command, "specify a controller, a parent, both, or a call")
			}
			return l.run(command.Context(), args)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&l.failed, "failed", false, "Show only calls that failed.")
	flags.StringVar(&l.hook, "hook", "", "Show only calls of this hook: sync, finalize or customize.")
	l.addAllNamespaces(command)
	l.output.addFlags(command, "wide")
	return command
}

// calls runs the command.
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

// call returns a call by its name. Without --namespace, it lists all calls to find the namespace.
func (c *cluster) call(ctx context.Context, name string) (*v1alpha1.HookCall, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	namespace := c.namespaceOrAll()
	if namespace == "" {
		found, err := client.MetacontrollerV1alpha1().HookCalls("").List(ctx,
			metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			return nil, fmt.Errorf("find the call in all namespaces: %w", err)
		}
		if len(found.Items) == 0 {
			return nil, fmt.Errorf("call %s not found: the server may have dropped it", name)
		}
		namespace = found.Items[0].Namespace
	}
	return client.MetacontrollerV1alpha1().HookCalls(namespace).Get(ctx, name, metav1.GetOptions{})
}

// list prints the selected calls.
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
	raw, err := client.MetacontrollerV1alpha1().RESTClient().Get().NamespaceIfScoped(namespace,
		namespace != "").Resource("hookcalls").
		VersionedParams(&selected, metav1.ParameterCodec).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
	if err != nil {
		return err
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil {
		return fmt.Errorf("read the response of the server: %w", err)
	}
	if len(table.Rows) == 0 {
		_, err := fmt.Fprintln(l.streams.ErrOut, "No calls are recorded.")
		return err
	}
	for i := range table.Rows {
		of := &table.Rows[i].Object // it has the namespace
		if of.Object, err = runtime.Decode(unstructured.UnstructuredJSONScheme, of.Raw); err != nil {
			return fmt.Errorf("read the response of the server: %w", err)
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
		{"hook", call.Spec.Hook + " at " + call.Spec.URL},
		{"began", call.Status.StartTime.UTC().Format("2006-01-02 15:04:05.000") + " UTC"},
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

// newReplay returns the command that sends the request of a recorded call again.
func newReplay(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	r := &replay{cluster: c, output: newOutput(streams)}
	command := &cobra.Command{
		Use:   "replay CALL",
		Short: "Send the request of a recorded call to the hook again",
		Long: `Send the request of a recorded call to the hook again.

The command compares the response with the recorded one, and prints the writes that would follow now, like preview. It
writes nothing. Recorded calls do not have the values of Secrets: the hook gets the current values, or placeholders if a
Secret no longer exists. The comparison ignores these values.

The exit codes are the same as for preview.`,
		Example: `  # Does the hook still respond the same?
  kubectl metacontroller calls cc/websites
  kubectl metacontroller replay 20261124-101500-123456-abcd -n shop

  # Can the hook on this machine process a request for which the hook of the controller failed?
  kubectl metacontroller replay 20261124-101500-123456-abcd --hook http://localhost:8080`,
		Args:              oneArg("the name of a call, see 'kubectl metacontroller calls'"),
		ValidArgsFunction: c.completeCalls,
		RunE: func(command *cobra.Command, args []string) error {
			err := r.validate(command)
			if err == nil {
				err = r.run(command.Context(), args[0])
			}
			if _, withCode := errors.AsType[*exit](err); err != nil && !withCode {
				return &exit{code: codeFailed, err: err}
			}
			return err
		},
	}
	flags := command.Flags()
	flags.StringVar(&r.hook, "hook", "",
		"URL of a hook on this machine. The command calls it instead of the hook of the controller.")
	cmdutil.AddFilenameOptionFlags(command, &r.files, "with a changed controller, which replaces the stored one.")
	r.output.addFlags(command)
	return command
}

// replay runs the command.
type replay struct {
	*cluster
	output
	hook  string
	files resource.FilenameOptions
	local *localhook.Hook
}

func (r *replay) validate(command *cobra.Command) (err error) {
	if r.hook != "" {
		if r.local, err = localhook.At(r.hook); err != nil {
			return err
		}
	}
	return r.output.validate(command)
}

func (r *replay) run(ctx context.Context, name string) error {
	call, err := r.call(ctx, name)
	if err != nil {
		return err
	}
	if err := replayable(call); err != nil {
		return err
	}
	controller, err := r.controllerOf(ctx, call)
	if err != nil {
		return err
	}
	reviewer, err := r.reviewer(controller)
	if err != nil {
		return err
	}
	about := call.Spec.Parent
	spec := reviewOf(controller)
	spec.Request = call.Status.Request.Object
	spec.Parent = &v1alpha1.SyncReviewParent{
		APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name,
	}
	var caller reviews.Caller
	if r.local != nil {
		caller = r.local.Of(controller)
	}
	var result v1alpha1.SyncReviewSummary
	err = reviews.Each(ctx, reviewer, spec, caller, func(review *v1alpha1.SyncReview) error {
		reviews.Add(&result, review.Status.Summary)
		if r.printer != nil {
			return r.printReview(review)
		}
		return r.show(call, controller, review)
	})
	if err != nil {
		return err
	}
	if r.printer == nil && len(result.Steps) > 0 {
		const note = "note: the cluster did not check these writes"
		if _, err := fmt.Fprintln(r.streams.ErrOut, note); err != nil {
			return err
		}
	}
	return exitOf(&result)
}

// replayable returns an error if a call cannot be replayed.
func replayable(call *v1alpha1.HookCall) error {
	switch request := call.Status.Request; {
	case call.Spec.Hook == "customize":
		return errors.New("it is a call of the customize hook: only calls of sync and finalize hooks can be replayed")
	case call.Spec.Revision != "":
		return fmt.Errorf("it is for ControllerRevision %s of the parent: only calls for "+
			"the current version can be replayed", call.Spec.Revision)
	case request == nil || request.Object == nil:
		omitted := ""
		if request != nil {
			omitted = ": " + request.Omitted
		}
		return errors.New("its request was not recorded completely" + omitted)
	}
	return nil
}

// controllerOf returns the controller of a call, from the files if there are any.
func (r *replay) controllerOf(ctx context.Context, call *v1alpha1.HookCall) (*lookup.Controller, error) {
	of := call.Spec.Controller
	if r.files.RequireFilenameOrKustomize() != nil {
		find, err := r.lookup()
		if err != nil {
			return nil, err
		}
		return find.Controller(ctx, of.Kind+"/"+of.Name)
	}
	read, err := lookup.Read(r.files)
	if err != nil {
		return nil, err
	}
	for i := range read {
		controller, err := read[i].Controller()
		if err != nil || controller != nil && controller.Reference() == of {
			return controller, err
		}
	}
	return nil, fmt.Errorf("%s %s not found in the files", of.Kind, of.Name)
}

// show prints how the response differs from the recorded one, and the writes that would follow.
func (r *replay) show(call *v1alpha1.HookCall, controller *lookup.Controller, review *v1alpha1.SyncReview) error {
	style := r.style()
	for i := range review.Status.Syncs {
		sync := &review.Status.Syncs[i]
		difference, err := answerDifference(call, sync)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(r.streams.Out, "%s\nWhat would follow now:\n", style.Diff(difference)); err != nil {
			return err
		}
		if err := style.Sync(r.streams.Out, controller.String(), sync); err != nil {
			return err
		}
	}
	return nil
}

// answerDifference describes how the response differs from the response that a call recorded.
func answerDifference(call *v1alpha1.HookCall, sync *v1alpha1.ReviewedSync) (string, error) {
	var now *runtime.RawExtension
	for _, one := range sync.Calls {
		if one.Hook == call.Spec.Hook && one.Revision == "" {
			now = one.Response
		}
	}
	then := call.Status.Response
	switch {
	case now == nil:
		return "The hook does not answer now.", nil
	case then == nil || then.Object == nil:
		return fmt.Sprintf("The recorded call failed (%s), and the hook answers now.", call.Status.Message), nil
	}
	difference, err := responseDifference(then.Object.Raw, now.Raw)
	switch {
	case err != nil:
		return "", err
	case difference != "":
		return "The answer then (-) and now (+):\n" + difference, nil
	}
	return "The answer has not changed.", nil
}

// responseDifference describes how two responses differ, apart from the values of Secrets, which are blanks in recorded
// calls and digests in reviews, wherever they are.
func responseDifference(then, now []byte) (string, error) {
	var before, after map[string]any
	if err := errors.Join(json.Unmarshal(then, &before), json.Unmarshal(now, &after)); err != nil {
		return "", fmt.Errorf("read the answer of the hook: %w", err)
	}
	redact.Unblank(before, after)
	var texts [2]string
	for i, content := range []map[string]any{before, after} {
		hideSecrets(content)
		text, err := yaml.Marshal(content)
		if err != nil {
			return "", err
		}
		texts[i] = string(text)
	}
	return printing.Difference(texts[0], texts[1]), nil
}

// hideSecrets replaces the values in the Secrets of a response.
func hideSecrets(content map[string]any) {
	for _, field := range []string{"children", "attachments"} {
		objects, _ := content[field].([]any)
		for _, one := range objects {
			object, _ := one.(map[string]any)
			if object["kind"] != "Secret" {
				continue
			}
			for _, values := range []string{"data", "stringData"} {
				data, _ := object[values].(map[string]any)
				for name := range data {
					data[name] = "(not shown)"
				}
			}
		}
	}
}
