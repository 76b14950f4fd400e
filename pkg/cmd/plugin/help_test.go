// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Whoever reads the help of a command needs nothing else: it says what the command does, has examples that call it, and
// says what each option is.
func TestTheHelpOfEachCommandIsEnough(t *testing.T) {
	explained := 0
	var look func(*cobra.Command)
	look = func(command *cobra.Command) {
		for _, below := range command.Commands() {
			look(below)
		}
		other := []string{"completion", "help", "options", "version"}
		if command.HasSubCommands() || slices.Contains(other, command.Name()) || !command.IsAvailableCommand() {
			return
		}
		explained++
		path := command.CommandPath()
		if !strings.HasPrefix(command.Long, command.Short) || len(command.Long) < len(command.Short)+50 {
			t.Errorf("%s does not say more than %q", path, command.Short)
		}
		if !strings.Contains(command.Example, path+" ") {
			t.Errorf("no example has %s with an argument", path)
		}
		command.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			if !strings.HasSuffix(flag.Usage, ".") && !strings.HasSuffix(flag.Usage, `.)`) {
				t.Errorf("--%s of %s is not explained in a sentence: %q", flag.Name, path, flag.Usage)
			}
		})
	}
	look(NewCommand(genericiooptions.NewTestIOStreamsDiscard()))
	if explained < 13 {
		t.Errorf("only %d commands were looked at", explained)
	}
}
