// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/printing"
)

// output is how a command prints what it has found: for people, or as -o says.
type output struct {
	streams Streams
	format  string
	color   string
	formats []string
	// list is the List that objects are printed into; nil if each is a document.
	list *list
}

// addFlags adds -o with these formats, and --color.
func (o *output) addFlags(command *cobra.Command, formats ...string) {
	o.formats = formats
	command.Flags().StringVarP(&o.format, "output", "o", "", "Output format: "+strings.Join(formats, ", ")+". Without it, the output is for people.")
	completeFlag(command, "output", oneOf(formats...))
	o.addColor(command)
}

func (o *output) addColor(command *cobra.Command) {
	command.Flags().StringVar(&o.color, "color", "auto", "Whether the output has colors: always, never, or auto, which is on a terminal unless NO_COLOR is set.")
	completeFlag(command, "color", oneOf("always", "auto", "never"))
}

func (o *output) validate(command *cobra.Command) error {
	if o.format != "" && !slices.Contains(o.formats, o.format) {
		return usageError(command, "the output format is %q, it should be one of %s", o.format, strings.Join(o.formats, ", "))
	}
	if !slices.Contains([]string{"auto", "always", "never"}, o.color) {
		return usageError(command, "--color is %q, it should be auto, always or never", o.color)
	}
	return nil
}

// style returns how text for people is coloured.
func (o *output) style() printing.Style {
	if o.color != "auto" {
		return printing.Style{Colored: o.color == "always"}
	}
	return printing.Style{Colored: isTerminal(o.streams.Out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func isTerminal(to io.Writer) bool {
	file, ok := to.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// unmarshal reads JSON of the server.
func unmarshal(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read the answer of the server: %w", err)
	}
	return nil
}
