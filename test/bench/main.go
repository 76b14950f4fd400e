// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the server side by side with an operator written by hand and with a client that does only what
// cannot be done without. `make bench` builds and runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
)

// bench is a run.
type bench struct {
	samples
	rows     []row
	steps    []step // of how cost grows
	rounds   int
	soak     time.Duration
	programs string // folder of the other contestants
	profiles string // folder for profiles of our server, "" if none are taken
}

func (b *bench) row(r row) {
	b.rows = append(b.rows, r)
	b.logf("%s, %s: %s (must be %s)", r.scenario, r.figure, r.verdict, r.must)
}

func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// scenarios in the order of the table.
var scenarios = []struct {
	name    string
	measure func(context.Context, *bench) error
}{
	{"edits", measureEdits},
	{"wide", measureWideEdits},
	{"convergence", measureConvergence},
	{"fleet", measureFleet},
	{"large", measureLarge},
	{"soak", measureSoak},
	{"start", measureStart},
}

func main() {
	b := &bench{samples: samples{}}
	var only []string
	var document string
	pflag.IntVar(&b.rounds, "rounds", 3, "How often each thing is measured.")
	pflag.DurationVar(&b.soak, "soak", 10*time.Minute, "How long the scenario soak takes.")
	pflag.StringVar(&b.programs, "programs", "", "The folder of the other contestants' programs.")
	pflag.StringVar(&b.profiles, "profiles", "", "A folder for CPU and allocation profiles of our server; they cost something. None are taken if it is empty.")
	pflag.StringSliceVar(&only, "scenarios", nil, "Which scenarios to measure; all if it is empty.")
	pflag.StringVar(&document, "document", "", "The Markdown file whose measured part is written anew; none if it is empty.")
	pflag.Parse()
	rest.SetDefaultWarningHandler(rest.NoWarnings{}) // a thousand controllers of the same parents are meant here
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, b, only, document); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, b *bench, only []string, document string) error {
	if b.profiles != "" {
		if err := os.MkdirAll(b.profiles, 0o750); err != nil {
			return err
		}
	}
	var failed error
	for _, s := range scenarios {
		if len(only) > 0 && !slices.Contains(only, s.name) {
			continue
		}
		b.logf("scenario %s", s.name)
		if err := s.measure(ctx, b); err != nil {
			failed = fmt.Errorf("scenario %s: %w", s.name, err)
			break
		}
	}
	fmt.Print(merge("", b.rows, "now"))
	if document != "" {
		failed = errors.Join(failed, b.write(ctx, document))
	}
	return failed
}
