// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/hooktest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/localhook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
)

// newReplay returns the command that sends the request of an earlier call again.
func newReplay(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	r := &replay{cluster: c, output: newOutput(streams)}
	command := &cobra.Command{
		Use:   "replay CALL",
		Short: "Send the request of an earlier call to the hook again",
		Long: `Send the request of an earlier call to the hook again.

The answer is compared with the one that it had then, and what would follow from it now is printed, as by
preview. Nothing is written. Values of Secrets are blanked in what is kept of calls: the hook is sent those of
now in their place, and blanks for those that are gone. They are not compared with the ones of then.

The exit code is that of preview.`,
		Example: `  # Does the hook still answer the same?
  kubectl metacontroller calls cc/websites
  kubectl metacontroller replay 20261124-101500-123456-abcd -n shop

  # Has the hook on this machine learnt to answer what made the other one fail?
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
	flags.StringVar(&r.hook, "hook", "", "URL of a hook on this machine, which is called in the place of the controller's.")
	cmdutil.AddFilenameOptionFlags(command, &r.files, "that have a changed controller, which is taken as it is there.")
	r.output.addFlags(command)
	return command
}

// replay is the command under way.
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
	return exitOf(&result)
}

// replayable returns why a call cannot be replayed.
func replayable(call *v1alpha1.HookCall) error {
	switch request := call.Status.Request; {
	case call.Spec.Hook == "customize":
		return errors.New("it is a call of the customize hook: only calls of sync and finalize hooks can be replayed")
	case call.Spec.Revision != "":
		return fmt.Errorf("it is about the parent as of ControllerRevision %s: only calls about the parent as it was can be replayed", call.Spec.Revision)
	case request == nil || request.Object == nil:
		omitted := ""
		if request != nil {
			omitted = ": " + request.Omitted
		}
		return errors.New("its request was not kept whole" + omitted)
	}
	return nil
}

// controllerOf returns the controller of a call, or the changed one in the file.
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
	return nil, fmt.Errorf("there is no %s %s in the files", of.Kind, of.Name)
}

// show prints how the answer differs from that of the call, and what would follow.
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

// answerDifference says how the answer differs from that of a call.
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
		return "There is no answer now.", nil
	case then == nil || then.Object == nil:
		return fmt.Sprintf("There was no answer then (%s), and there is one now.", call.Status.Message), nil
	}
	before, err := withoutSecrets(then.Object.Raw)
	if err != nil {
		return "", err
	}
	after, err := withoutSecrets(now.Raw)
	if err != nil {
		return "", err
	}
	if difference := printing.Difference(before, after); difference != "" {
		return "The answer then (-) and now (+):\n" + difference, nil
	}
	return "The answer is the same as then.", nil
}

// withoutSecrets returns an answer as YAML without the values of Secrets: they are blanked in what is kept of calls, and digests in
// reviews.
func withoutSecrets(answer []byte) (string, error) {
	var content map[string]any
	if err := json.Unmarshal(answer, &content); err != nil {
		return "", fmt.Errorf("read the answer of the hook: %w", err)
	}
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
	text, err := yaml.Marshal(content)
	return string(text), err
}

// newRecord returns the command that makes a test of a call.
func newRecord(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	r := &record{cluster: c, streams: streams}
	command := &cobra.Command{
		Use:   "record CALL",
		Short: "Make a test of a call that a controller has made",
		Long: `Make a test of a call that a controller has made.

A file in the folder tests gets the parent, its children and the related objects as the hook was sent them,
and expects what it answered and what followed from that. Values of Secrets are blanked. Read the file before
you keep it: it has objects of your cluster.`,
		Example: `  kubectl metacontroller calls website/front -n shop
  kubectl metacontroller record 20261124-101500-123456-abcd -n shop --name scaled-down`,
		Args:              oneArg("the name of a call, see 'kubectl metacontroller calls'"),
		ValidArgsFunction: c.completeCalls,
		RunE: func(command *cobra.Command, args []string) error {
			if strings.ContainsAny(r.name, `/\`) {
				return cmdutil.UsageErrorf(command, "--name is %q, it should be the name of a file, without its extension", r.name)
			}
			return r.run(command.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&r.folder, "folder", ".",
		"Folder with the controller. The test is written into the folder tests below it.")
	flags.StringVar(&r.name, "name", "", "Name of the test. Without it, that of the call.")
	cmdutil.AddFilenameOptionFlags(command, &r.files,
		"that have the controllers and their CustomResourceDefinitions, if the folder does not.")
	return command
}

// record is the command under way.
type record struct {
	*cluster
	streams      genericiooptions.IOStreams
	folder, name string
	files        resource.FilenameOptions
}

func (r *record) run(ctx context.Context, name string) error {
	suite, err := hooktest.Begin(r.folder, r.files)
	if err != nil {
		return err
	}
	call, err := r.call(ctx, name)
	if err != nil {
		return err
	}
	if r.name == "" {
		r.name = name
	}
	path, err := suite.Record(ctx, call, r.name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(r.streams.Out, path)
	return err
}
