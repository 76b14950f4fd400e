// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/hooktest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/localhook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
)

// newTest returns the command that tests hooks without a cluster.
func newTest(streams genericiooptions.IOStreams) *cobra.Command {
	t := &test{output: newOutput(streams)}
	command := &cobra.Command{
		Use:   "test [FOLDER ...]",
		Short: "Test a hook with cases in files, without a cluster",
		Long: `Test a hook with cases in files, without a cluster.

A FOLDER, by default the current one, has a controller and the CustomResourceDefinitions of its types. Its subfolder
tests has a file for each case, with the existing objects and the expected result. The command calls the hook, and the
code of the server computes what the controller would do with the response: selectors, adoption, merging, rolling
updates, finalizers.

  # tests/first.yaml
  parent: ../my-website.yaml        # an object, or a file with one
  children: []                      # of the parent, as the controller has created them
  others: []                        # other existing objects, such as those for a customize hook
  expect:
    status: {ready: 0}
    children:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: shop}}
    steps:
    - create ConfigMap shop
    - update status of Website shop

The command ignores fields of objects that expect lacks, unless it has exact: true. Inline hooks need no command. For
all others, the file tests/suite.yaml has the command that starts the hook:

  hookCommand: python3 hook.py $PORT

The plugin prints that command and runs it with all your permissions: review the folder of another person before you
test it.

The exit code is 0 if all cases pass, 1 if some fail, and greater than 1 if they cannot be run.`,
		Example: `  # Run all cases in the folder tests, with the hook that suite.yaml starts.
  kubectl metacontroller test

  # Run the cases with "scale" in their names against a hook that is already running.
  kubectl metacontroller test --hook http://localhost:8080 --run scale

  # Write the results of the cases to the field expect in their files, and review the changes.
  kubectl metacontroller test --update && git diff

  # Write a report for a build server.
  kubectl metacontroller test --junit results.xml`,
		RunE: func(command *cobra.Command, args []string) error {
			if err := t.validate(command); err != nil {
				return &exit{code: codeCannotRun, err: err}
			}
			return t.run(command.Context(), args)
		},
	}
	flags := command.Flags()
	flags.StringVar(&t.hook, "hook", "", "URL of the hook, such as http://localhost:8080, if it is already running.")
	flags.StringVar(&t.hookCommand, "hook-command", "",
		"Command that starts the hook, which must listen on $PORT. It overrides the one in suite.yaml.")
	cmdutil.AddFilenameOptionFlags(command, &t.files,
		"with the controllers and their CustomResourceDefinitions, if the folder does not have them.")
	flags.StringVar(&t.pattern, "run", "", "Regular expression for the names of the cases to run.")
	flags.BoolVar(&t.update, "update", false,
		"Write the results of the cases to the field expect in their files, unless they are probably a mistake: an "+
			"unexpected failure or warning, or another response to the second call.")
	flags.StringVar(&t.junit, "junit", "", "File to write a report to, in the JUnit format.")
	t.addColor(command)
	return command
}

// The exit codes of test.
const (
	codeCasesFailed = 1
	codeCannotRun   = 2
)

// test runs the command.
type test struct {
	output
	hook, hookCommand string
	files             resource.FilenameOptions
	pattern           string
	update            bool
	junit             string

	names *regexp.Regexp
}

func (t *test) validate(command *cobra.Command) (err error) {
	if t.hook != "" && t.hookCommand != "" {
		return cmdutil.UsageErrorf(command, "specify --hook or --hook-command, not both")
	}
	if t.names, err = regexp.Compile(t.pattern); err != nil {
		return cmdutil.UsageErrorf(command, "--run: %v", err)
	}
	return t.output.validate(command)
}

func (t *test) run(ctx context.Context, folders []string) error {
	if len(folders) == 0 {
		folders = []string{"."}
	}
	var all []*hooktest.Report
	for _, folder := range folders {
		prefix := ""
		if len(folders) > 1 {
			prefix = filepath.ToSlash(filepath.Clean(folder)) + "/"
		}
		report, err := t.runFolder(ctx, folder, prefix)
		if err != nil {
			return &exit{code: codeCannotRun, err: fmt.Errorf("%s: %w", folder, err)}
		}
		all = append(all, report)
	}
	if t.junit != "" {
		if err := t.writeJUnit(all); err != nil {
			return &exit{code: codeCannotRun, err: err}
		}
	}
	return t.conclude(all)
}

// runFolder runs the cases of a folder and prints the results. The prefix precedes their names.
func (t *test) runFolder(ctx context.Context, folder, prefix string) (*hooktest.Report, error) {
	suite, err := hooktest.Load(folder, t.files)
	if err != nil {
		return nil, err
	}
	suite.Cases = slices.DeleteFunc(suite.Cases, func(one *hooktest.Case) bool { return !t.names.MatchString(one.Name) })
	report := &hooktest.Report{Folder: folder}
	if len(suite.Cases) == 0 {
		return report, nil
	}
	results, stop, err := t.results(ctx, suite)
	if err != nil {
		return nil, err
	}
	defer stop()
	for result := range results {
		report.Results = append(report.Results, result)
		if err := t.show(result, prefix); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// results returns the results of the cases of a suite in order. It calls the hook at --hook, or starts one, which stop
// stops, unless all hooks are inline.
func (t *test) results(ctx context.Context, suite *hooktest.Suite) (results iter.Seq[*hooktest.Result], stop func(),
	err error) {
	run := suite.Run
	if t.update {
		run = suite.RunTwice
	}
	if t.hook != "" {
		hook, err := localhook.At(t.hook)
		hooks := func(controller *lookup.Controller) reviews.Caller { return hook.Of(controller) }
		return runAtOnce(ctx, suite, run, hooks), func() {}, err
	}
	if t.hookCommand == "" && !suite.NeedsProgram() {
		return runAtOnce(ctx, suite, run, withoutProgram), func() {}, nil
	}
	program, err := t.start(ctx, suite)
	if err != nil {
		return nil, nil, err
	}
	return runInTurn(ctx, suite, run, program), program.Stop, nil
}

// withoutProgram returns the Caller of a controller that has only inline hooks, which are not called.
func withoutProgram(*lookup.Controller) reviews.Caller {
	return func(_ context.Context, hook string, _ []byte) ([]byte, error) {
		return nil, fmt.Errorf("the controller has no webhook %s", hook)
	}
}

// start starts the hook of a suite.
func (t *test) start(ctx context.Context, suite *hooktest.Suite) (*localhook.Program, error) {
	command := t.hookCommand
	if command == "" {
		command = suite.HookCommand
	}
	if command == "" {
		return nil, errors.New("no command starts the hook: set --hook-command or --hook, or hookCommand in tests/suite.yaml")
	}
	if t.hookCommand == "" {
		// The folder may come from another person, so print which program the command starts.
		_, err := fmt.Fprintf(t.streams.ErrOut, "note: %s runs this command: %s\n", suite.SettingsPath(), command)
		if err != nil {
			return nil, err
		}
	}
	return localhook.Start(ctx, command, suite.Folder)
}

// runner runs a case with some hooks.
type runner func(ctx context.Context, of *hooktest.Case, hooks hooktest.Hooks) *hooktest.Result

// runInTurn runs one case after the other so that the output of the program belongs to one case.
func runInTurn(
	ctx context.Context, suite *hooktest.Suite, run runner, program *localhook.Program,
) iter.Seq[*hooktest.Result] {
	return func(yield func(*hooktest.Result) bool) {
		for _, one := range suite.Cases {
			result := run(ctx, one, func(controller *lookup.Controller) reviews.Caller { return program.Of(controller) })
			result.Printed = program.Output()
			if !yield(result) {
				return
			}
		}
	}
}

// runAtOnce runs the cases of a suite in parallel.
func runAtOnce(
	ctx context.Context, suite *hooktest.Suite, run runner, hooks hooktest.Hooks,
) iter.Seq[*hooktest.Result] {
	return func(yield func(*hooktest.Result) bool) {
		results := make([]chan *hooktest.Result, len(suite.Cases))
		places := make(chan struct{}, runtime.NumCPU())
		var running sync.WaitGroup
		defer running.Wait()
		for i, one := range suite.Cases {
			results[i] = make(chan *hooktest.Result, 1)
			running.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				results[i] <- run(ctx, one, hooks)
			})
		}
		for _, result := range results {
			if !yield(<-result) {
				return
			}
		}
	}
}

// show prints a result. With --update, it writes the result to the file of the case.
func (t *test) show(result *hooktest.Result, prefix string) error {
	style, state, more := t.style(), "", ""
	switch {
	case t.update && result.Doubt != "":
		state, more = style.Bad("FAIL   "), "      not written: "+indented(style.Diff(result.Doubt), "      ")[6:]+"\n"
	case t.update && result.Outcome != nil:
		written, err := result.Update()
		if err != nil {
			return err
		}
		state = style.Good("same   ")
		if written {
			state = style.Warning("updated")
		}
	case result.Err != nil:
		state, more = style.Bad("FAIL"), indented(result.Err.Error(), "      ")+"\n"
	case result.Difference != "":
		state = style.Bad("FAIL")
		more = "      expected (-) and actual (+):\n" + indented(style.Diff(result.Difference), "      ") + "\n"
	default:
		state = style.Good("ok  ")
	}
	if more != "" && result.Printed != "" {
		more += "      the hook printed:\n" + indented(result.Printed, "        ") + "\n"
	}
	_, err := fmt.Fprintf(t.streams.Out, "%s  %s%s %s\n%s", state, prefix, result.Name,
		style.Faint(fmt.Sprintf("(%d ms)", result.Duration.Milliseconds())), more)
	return err
}

// conclude prints how many cases passed, and returns the exit code as an error.
func (t *test) conclude(all []*hooktest.Report) error {
	passed, failed := 0, 0
	for _, report := range all {
		for _, result := range report.Results {
			if result.Failed() && (!t.update || result.Outcome == nil || result.Doubt != "") {
				failed++
			} else {
				passed++
			}
		}
	}
	switch {
	case passed+failed == 0:
		return &exit{code: codeCannotRun, err: fmt.Errorf("no case name matches %q", t.pattern)}
	case failed > 0:
		_, _ = fmt.Fprintf(t.streams.Out, "%d failed, %d passed.\n", failed, passed)
		return &exit{code: codeCasesFailed}
	}
	_, err := fmt.Fprintf(t.streams.Out, "%d passed.\n", passed)
	return err
}

func (t *test) writeJUnit(all []*hooktest.Report) error {
	file, err := os.Create(t.junit)
	if err != nil {
		return err
	}
	return errors.Join(hooktest.WriteJUnit(file, all), file.Close())
}

// indented returns lines with an indent.
func indented(text, indent string) string {
	return indent + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+indent)
}

// newRecord returns the command that creates a test case from a call.
func newRecord(c *cluster, streams genericiooptions.IOStreams) *cobra.Command {
	r := &record{cluster: c, streams: streams}
	command := &cobra.Command{
		Use:   "record CALL",
		Short: "Create a test case from a recorded call",
		Long: `Create a test case from a recorded call.

The command writes a file to the folder tests, with the parent, its children and the related objects of the request. The
case expects the response of the hook and the writes that follow. It has placeholders for the values of Secrets. Review
the file before you keep it: it has objects of your cluster.`,
		Example: `  kubectl metacontroller calls website/front -n shop
  kubectl metacontroller record 20261124-101500-123456-abcd -n shop --name scaled-down`,
		Args:              oneArg("the name of a call, see 'kubectl metacontroller calls'"),
		ValidArgsFunction: c.completeCalls,
		RunE: func(command *cobra.Command, args []string) error {
			if strings.ContainsAny(r.name, `/\`) {
				return cmdutil.UsageErrorf(command, "--name must be the name of a file without its extension, not %q", r.name)
			}
			return r.run(command.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&r.folder, "folder", ".",
		"Folder with the controller. The case goes to its subfolder tests.")
	flags.StringVar(&r.name, "name", "", "Name of the case. By default, the name of the call.")
	cmdutil.AddFilenameOptionFlags(command, &r.files,
		"with the controllers and their CustomResourceDefinitions, if the folder does not have them.")
	return command
}

// record runs the command.
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
