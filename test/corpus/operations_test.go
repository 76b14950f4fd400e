// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/server"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// part returns the text of docs/operations.md between a heading and the next one of that level.
func part(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/operations.md has no %q", heading)
	}
	level, _, _ := strings.Cut(heading, " ")
	before, _, _ := strings.Cut(after, "\n"+level+" ")
	return before
}

// firstCells returns what the first cells of the tables in a text have between backquotes.
func firstCells(text string, cell int) (names []string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) <= cell {
			continue
		}
		for _, name := range codeSpan.FindAllStringSubmatch(cells[cell], -1) {
			names = append(names, name[1])
		}
	}
	return names
}

// The flags in the tables exist, and each flag of the controllers is in one of them.
func TestTheFlagsOfTheDocumentationAreThoseOfTheServer(t *testing.T) {
	command, err := server.NewCommand()
	if err != nil {
		t.Fatal(err)
	}
	told := firstCells(part(t, "## Flags"), 0)
	removed := []string{"--zap-log-level", "--zap-encoder", "--zap-devel", "--zap-stacktrace-level", "--zap-time-encoding"}
	for _, name := range told {
		if name != "-v" && !slices.Contains(removed, name) && command.Flags().Lookup(strings.TrimPrefix(name, "--")) == nil {
			t.Errorf("docs/operations.md has %s, and the server does not", name)
		}
	}
	if len(told) < 30 {
		t.Errorf("only %d flags were found", len(told))
	}
	own, err := server.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	sections := own.Flags()
	controllers := sections.FlagSet("controllers")
	controllers.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(told, "--"+flag.Name) {
			t.Errorf("docs/operations.md does not have --%s", flag.Name)
		}
	})
	if !controllers.HasFlags() {
		t.Error("the flags of the controllers were not found")
	}
}

// The table of events has each reason, and no other.
func TestTheEventsOfTheDocumentationAreThoseOfTheServer(t *testing.T) {
	var given []string
	for file, reasons := range map[string]string{
		"pkg/controller/pipeline/report/events.go":       `(?m)^\treason\w+ += "(\w+)"$`,
		"pkg/apis/metacontroller/v1alpha1/conditions.go": `(?m)^\tReason\w+ += "(\w+)"$`,
		"pkg/servingcert/secret.go":                      `(?m)^\teventReason += "(\w+)"$`,
	} {
		source, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), file))
		if err != nil {
			t.Fatal(err)
		}
		if _, ofEvents, hasOthers := bytes.Cut(source, []byte("also the reasons of events")); hasOthers {
			source = ofEvents // the reasons before are only those of conditions
		}
		found := regexp.MustCompile(reasons).FindAllSubmatch(source, -1)
		if len(found) == 0 {
			t.Errorf("%s has no reasons of events", file)
		}
		for _, match := range found {
			given = append(given, string(match[1]))
		}
	}
	told := firstCells(part(t, "## Events"), 1)
	slices.Sort(given)
	slices.Sort(told)
	if given, told := slices.Compact(given), slices.Compact(told); !slices.Equal(given, told) {
		t.Errorf("the reasons of events are\n%v\nand docs/operations.md has\n%v", given, told)
	}
}
