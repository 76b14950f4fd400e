// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the server side by side with an operator written by hand and with a client that does only what
// cannot be done without. `make bench` builds and runs it. It is a module of its own, so that builds of the server
// and its tests do not compile it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
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

func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

func main() {
	b := &bench{samples: samples{}}
	var only []string
	var document string
	pflag.IntVar(&b.rounds, "rounds", 3, "How often each thing is measured, at least once.")
	pflag.DurationVar(&b.soak, "soak", 10*time.Minute, "How long the scenario soak takes, at least 10s.")
	pflag.StringVar(&b.programs, "programs", "", "The folder of the other contestants' programs.")
	pflag.StringVar(&b.profiles, "profiles", "", "A folder for CPU and allocation profiles of our server. They cost something, so no document is written. None are taken if it is empty.")
	pflag.StringSliceVar(&only, "scenarios", nil, "Which scenarios to measure; all if it is empty.")
	pflag.StringVar(&document, "document", "", "The Markdown file that the rows are put into, in place of those about the same; none if it is empty.")
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
	chosen, err := choose(allScenarios(), only)
	if err := errors.Join(err, b.check()); err != nil {
		return err
	}
	if b.profiles != "" {
		if err := os.MkdirAll(b.profiles, 0o750); err != nil {
			return err
		}
	}
	described, err := describeRun(ctx, b.rounds)
	if err != nil {
		return err
	}
	failed := b.measure(ctx, chosen)
	fmt.Print(merge("", b.rows, "now"))
	if document == "" || b.profiles != "" {
		return failed
	}
	return errors.Join(failed, b.write(document, described))
}

// check finds flags that would measure nothing, before something is measured for an hour.
func (b *bench) check() error {
	if b.rounds < 1 {
		return fmt.Errorf("--rounds: %d rounds measure nothing; at least 1 is needed", b.rounds)
	}
	if b.soak < shortestSoak {
		return fmt.Errorf("--soak: %s are too short to see memory grow; at least %s are needed", b.soak, shortestSoak)
	}
	return nil
}
