// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/cmd/get"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// output prints the results of a command: for people, or in the format of -o.
type output struct {
	streams    genericiooptions.IOStreams
	printFlags *genericclioptions.PrintFlags
	columns    *get.CustomColumnsPrintFlags
	// forPeople are values of -o that also print for people.
	forPeople []string
	color     string
	// printer prints objects in the format of -o; nil if the output is for people.
	printer printers.ResourcePrinter
	// list collects the objects of one List; nil if each object is printed separately.
	list *unstructured.UnstructuredList
}

func newOutput(streams genericiooptions.IOStreams) output {
	return output{
		streams: streams, printFlags: genericclioptions.NewPrintFlags(""), columns: get.NewCustomColumnsPrintFlags(),
	}
}

// addFlags adds -o with the formats of kubectl get, and --color. forPeople are further values of -o.
func (o *output) addFlags(command *cobra.Command, forPeople ...string) {
	o.forPeople = forPeople
	o.printFlags.JSONYamlPrintFlags.AddFlags(command)
	o.printFlags.TemplatePrinterFlags.AddFlags(command)
	command.Flags().StringVarP(o.printFlags.OutputFormat, "output", "o", "",
		"Output format. One of: ("+strings.Join(o.formats(), ", ")+"). The default output is for humans.")
	o.printFlags.OutputFlagSpecified = func() bool { return command.Flags().Changed("output") }
	completeFlag(command, "output", oneOf(o.formats()...))
	o.addColor(command)
}

// formats returns the values of -o.
func (o *output) formats() []string {
	return slices.Concat(o.printFlags.AllowedFormats(), o.columns.AllowedFormats(), o.forPeople)
}

func (o *output) addColor(command *cobra.Command) {
	command.Flags().StringVar(&o.color, "color", "auto",
		"Use colors: always, never, or auto, which means on terminals unless NO_COLOR is set.")
	completeFlag(command, "color", oneOf("always", "auto", "never"))
}

func (o *output) validate(command *cobra.Command) error {
	if !slices.Contains([]string{"auto", "always", "never"}, o.color) {
		return cmdutil.UsageErrorf(command, "--color must be auto, always or never, not %q", o.color)
	}
	printer, err := o.toPrinter()
	if err != nil {
		return cmdutil.UsageErrorf(command, "%v", err)
	}
	o.printer = printer
	if to, ok := o.streams.Out.(*printing.Terminal); ok {
		to.Styled = o.style().Colored
	}
	return nil
}

// toPrinter returns the printer for the flags; nil if the output is for people.
func (o *output) toPrinter() (printers.ResourcePrinter, error) {
	format, template := *o.printFlags.OutputFormat, *o.printFlags.TemplatePrinterFlags.TemplateArgument
	if format == "" && template == "" || slices.Contains(o.forPeople, format) {
		return nil, nil
	}
	printer, err := o.columns.ToPrinter(format)
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		printer, err = o.printFlags.ToPrinter()
	}
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		err = genericclioptions.NoCompatiblePrinterError{OutputFormat: &format, AllowedFormats: o.formats()}
	}
	return printer, err
}

// isNames reports whether the output has only names of objects.
func (o *output) isNames() bool { return *o.printFlags.OutputFormat == "name" }

// inList calls printAll. If several is true, the printed objects are the items of one v1 List, even if there is only
// one or none: as in kubectl get, the form of the output depends only on the arguments.
func (o *output) inList(several bool, printAll func() error) error {
	if !several || o.printer == nil {
		return printAll()
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""},
	}}
	o.list = list
	err := printAll()
	if o.list = nil; err != nil && len(list.Items) == 0 {
		return err
	}
	if failed := o.printer.PrintObj(list, raw(o.streams.Out)); err == nil {
		err = failed
	}
	return err
}

// print prints an object in the format of -o.
func (o *output) print(object runtime.Object) error {
	converted, err := toUnstructured(object)
	if err != nil {
		return err
	}
	if o.list != nil {
		o.list.Items = append(o.list.Items, *converted)
		return nil
	}
	return o.printer.PrintObj(converted, raw(o.streams.Out))
}

// printItems prints the items of a list of the API.
func printItems[T any, P interface {
	*T
	runtime.Object
}](o *output, items []T) error {
	for i := range items {
		if err := o.print(P(&items[i])); err != nil {
			return err
		}
	}
	return nil
}

// toUnstructured returns an object with its type, and with the fields that templates and paths name.
func toUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	if converted, ok := object.(*unstructured.Unstructured); ok {
		return converted, nil
	}
	if object.GetObjectKind().GroupVersionKind().Empty() {
		kinds, _, err := scheme.Scheme.ObjectKinds(object) // objects in lists and in responses have no kind
		if err != nil {
			return nil, err
		}
		object.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	converted := &unstructured.Unstructured{}
	return converted, converted.UnmarshalJSON(raw)
}

// printDone prints an object in the format of -o, or a line about the change.
func (o *output) printDone(object runtime.Object, done string) error {
	if o.printer != nil {
		return o.print(object)
	}
	return (&printers.NamePrinter{Operation: done}).PrintObj(object, o.streams.Out)
}

// raw returns the output without escaping. Programs read the formats of -o, for which kubectl does not escape either.
func raw(output io.Writer) io.Writer {
	if terminal, ok := output.(*printing.Terminal); ok {
		return terminal.Raw
	}
	return output
}

// style returns the style of text for people.
func (o *output) style() printing.Style {
	if o.color != "auto" {
		return printing.Style{Colored: o.color == "always"}
	}
	return printing.Style{Colored: printers.AllowsColorOutput(raw(o.streams.Out))}
}

// inCell replaces characters that would end a cell.
var inCell = strings.NewReplacer("\n", " ", "\t", " ")

// printTable prints rows in columns, as kubectl does, without trailing spaces. Only the last cell of a row may be
// colored.
func printTable(to io.Writer, rows [][]string) error {
	var aligned strings.Builder
	table := printers.GetNewTabWriter(&aligned)
	escape := func(text string) string { return text }
	if terminal, ok := to.(*printing.Terminal); ok {
		escape = terminal.Escape // before the widths are measured
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = escape(inCell.Replace(cell))
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) // a Builder takes everything
	}
	_ = table.Flush()
	for line := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(to, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
