// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/localhook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
)

const (
	// reviewTimeout is the timeout of one review in seconds. It is the maximum that the server allows.
	reviewTimeout = 30
	// parentsPerReview is the number of parents in one review.
	parentsPerReview = 50
)

// newPreview returns the command that previews syncs.
func newPreview(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	p := &preview{cluster: c, output: newOutput(streams)}
	command := &cobra.Command{
		Use:   "preview [CONTROLLER] [PARENT ...]",
		Short: "Preview what syncs would write",
		Long: `Preview what syncs would write.

The server calls the hook with the current objects, and the command prints the writes that would follow as a diff, each
with its reason. The server writes nothing, and the calls do not count as syncs.

 * With -f, use controllers or parents from files instead of the stored ones.
 * With --hook, call a hook on this machine instead of the hook of the controller. The cluster does not need to reach it.
   Requests have digests instead of the values of Secrets.
 * With --dry-run, send each write to the cluster with dryRun=All, so that it applies defaults, admission and quotas.

Without parents, preview all parents of the controller: in all namespaces, unless --namespace is set.

The exit code is 0 if nothing would change, 1 if something would change, and greater than 1 if a sync would fail or
another error occurs.`,
		Example: `  # What would the next sync of a Website write?
  kubectl metacontroller preview website/shop -n shop

  # What would a change of the controller do, for all its parents?
  kubectl metacontroller preview -f controller.yaml

  # What would a hook on this machine do, for all parents with a label?
  kubectl metacontroller preview cc/websites --hook http://localhost:8080 -l tier=front

  # What would a changed or new parent cause, and would the cluster accept the writes?
  kubectl metacontroller preview -f shop.yaml --dry-run

  # Print everything: requests, answers and steps.
  kubectl metacontroller preview cc/websites shop -n shop -o yaml`,
		ValidArgsFunction: c.completeSubjects,
		RunE: func(command *cobra.Command, args []string) error {
			if err := p.validate(command, args); err != nil {
				return &exit{code: codeFailed, err: err}
			}
			return p.run(command.Context(), args)
		},
	}
	flags := command.Flags()
	cmdutil.AddFilenameOptionFlags(command, &p.files,
		"with controllers or parents to preview; - is standard input.")
	flags.StringVarP(&p.selector, "selector", "l", "", "Label selector for the parents, such as tier=front.")
	flags.StringVar(&p.hook, "hook", "",
		"URL of a hook on this machine, such as http://localhost:8080. The command appends the paths of the webhooks.")
	flags.BoolVar(&p.dryRun, "dry-run", false, "Send each write to the cluster as a dry run.")
	p.addAllNamespaces(command)
	p.output.addFlags(command)
	return command
}

// The exit codes of preview are like those of kubectl diff.
const (
	codeChanges = 1
	codeFailed  = 2
)

// preview runs the command.
type preview struct {
	*cluster
	output
	files          resource.FilenameOptions
	selector, hook string
	dryRun         bool

	local *localhook.Hook
	// labels is the parsed selector; nil selects all parents.
	labels  *metav1.LabelSelector
	summary v1alpha1.SyncReviewSummary
}

func (p *preview) validate(command *cobra.Command, args []string) (err error) {
	if err := p.output.validate(command); err != nil {
		return err
	}
	if len(args) == 0 && p.files.RequireFilenameOrKustomize() != nil {
		return cmdutil.UsageErrorf(command, "specify a controller, a parent, or a file with one of them")
	}
	if p.hook != "" {
		if p.local, err = localhook.At(p.hook); err != nil {
			return err
		}
	}
	if p.selector != "" {
		p.labels, err = metav1.ParseToLabelSelector(p.selector)
	}
	return err
}

func (p *preview) run(ctx context.Context, args []string) error {
	subjects, err := p.subjects(ctx, args)
	if err != nil {
		return &exit{code: codeFailed, err: err}
	}
	isOne := len(subjects) == 1 && subjects[0].isOne()
	err = p.inList(!isOne, func() error {
		for _, subject := range subjects {
			if err := p.review(ctx, subject); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return &exit{code: codeFailed, err: err}
	}
	return p.conclude(len(subjects))
}

// review previews a subject and prints it.
func (p *preview) review(ctx context.Context, of subject) error {
	reviewer, err := p.reviewer(of.controller)
	if err != nil {
		return err
	}
	spec := reviewOf(of.controller)
	spec.Parent = of.parent
	switch {
	case of.object != nil:
		spec.Object = &runtime.RawExtension{Raw: of.object}
	case of.parent == nil:
		spec.Parents = &v1alpha1.SyncReviewParents{Namespace: p.namespaceOrAll(), LabelSelector: p.labels,
			Limit: ptr.To[int32](parentsPerReview)}
	}
	if p.dryRun {
		spec.Until = v1alpha1.SyncReviewUntilDryRun
	}
	if p.printer == nil || p.isNames() {
		spec.Details = v1alpha1.SyncReviewDetailsSteps
	}
	var call reviews.Caller
	if p.local != nil {
		call = p.local.Of(of.controller)
	}
	progress := p.newProgress(of)
	defer progress.end()
	err = reviews.Each(ctx, reviewer, spec, call, func(review *v1alpha1.SyncReview) error {
		progress.end()
		reviews.Add(&p.summary, review.Status.Summary)
		if err := p.show(of.controller, review); err != nil {
			return err
		}
		progress.add(len(review.Status.Syncs))
		return nil
	})
	if of.optional && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// reviewOf returns a review of a controller up to the plan.
func reviewOf(controller *lookup.Controller) v1alpha1.SyncReviewSpec {
	spec := v1alpha1.SyncReviewSpec{
		Controller: controller.InReview(), Until: v1alpha1.SyncReviewUntilPlan, TimeoutSeconds: ptr.To[int32](reviewTimeout),
	}
	if controller.Candidate != nil {
		spec.Candidate = &runtime.RawExtension{Raw: controller.Candidate}
	}
	return spec
}

// show prints one response.
func (p *preview) show(controller *lookup.Controller, review *v1alpha1.SyncReview) error {
	if p.printer != nil {
		return p.printReview(review)
	}
	style := p.style()
	for i := range review.Status.Syncs {
		sync := &review.Status.Syncs[i]
		if sync.Result == v1alpha1.ReviewedUnchanged && review.Spec.Parents != nil && len(sync.Warnings) == 0 {
			continue // it is in the summary
		}
		if err := style.Sync(p.streams.Out, controller.String(), sync); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(p.streams.Out); err != nil {
			return err
		}
	}
	for _, note := range review.Status.Notes {
		if _, err := fmt.Fprintln(p.streams.ErrOut, "note: "+note); err != nil {
			return err
		}
	}
	return nil
}

// printReview prints a review as -o says. A review has no name: instead, it prints the names of the parents whose
// syncs would change something, or fail.
func (o *output) printReview(review *v1alpha1.SyncReview) error {
	if !o.isNames() {
		return o.print(review)
	}
	for _, sync := range review.Status.Syncs {
		if sync.Result == v1alpha1.ReviewedUnchanged {
			continue
		}
		parent := &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: sync.Parent.APIVersion, Kind: sync.Parent.Kind},
			ObjectMeta: metav1.ObjectMeta{Name: sync.Parent.Name},
		}
		if err := o.print(parent); err != nil {
			return err
		}
	}
	return nil
}

// conclude prints the summary, and returns the exit code as an error.
func (p *preview) conclude(subjects int) error {
	if p.printer == nil {
		if _, err := fmt.Fprintln(p.streams.Out, p.style().Summary(&p.summary)); err != nil {
			return &exit{code: codeFailed, err: err}
		}
		if len(p.summary.Steps) > 0 && !p.dryRun {
			const note = "note: the cluster did not check these writes: use --dry-run to check them"
			if _, err := fmt.Fprintln(p.streams.ErrOut, note); err != nil {
				return &exit{code: codeFailed, err: err}
			}
		}
	}
	if p.summary.Parents == 0 && subjects > 1 {
		return &exit{code: codeFailed, err: errors.New(
			"the selectors and namespaces of all controllers exclude this parent")}
	}
	return exitOf(&p.summary)
}

// exitOf returns the exit code for a summary as an error.
func exitOf(summary *v1alpha1.SyncReviewSummary) error {
	switch {
	case summary.Failed > 0 || summary.Undecided > 0:
		return &exit{code: codeFailed}
	case summary.Changed > 0:
		return &exit{code: codeChanges}
	}
	return nil
}

// progress prints the number of previewed parents on a terminal, in a last line that the next output replaces.
type progress struct {
	to   io.Writer
	of   int32
	done int
}

// newProgress returns the progress of a subject. It prints only to terminals.
func (p *preview) newProgress(of subject) *progress {
	if of.parent != nil || of.object != nil || !printers.IsTerminal(raw(p.streams.ErrOut)) {
		return &progress{to: io.Discard}
	}
	shown := &progress{to: raw(p.streams.ErrOut)}
	if status := of.controller.GetStatus(); p.labels == nil && p.namespaceOrAll() == "" && status.Parents != nil {
		shown.of = status.Parents.Total
	}
	return shown
}

// add counts more previewed parents, and prints the line.
func (p *progress) add(more int) {
	p.done += more
	if p.of >= int32(p.done) {
		_, _ = fmt.Fprintf(p.to, "%d of %d parents ...", p.done, p.of)
	} else {
		_, _ = fmt.Fprintf(p.to, "%d parents ...", p.done)
	}
}

// end removes the line.
func (p *progress) end() { _, _ = fmt.Fprint(p.to, "\r\x1b[K") }
