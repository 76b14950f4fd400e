// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Usage: image [flags] PROGRAM...\n\nBeside each PROGRAM is its bill of materials, PROGRAM.cdx.json.")
		flags.PrintDefaults()
	}
	about := release{}
	var created string
	output := flags.String("output", "image.tar", "the OCI archive to write")
	flags.StringVar(&about.name, "name", "metacontroller/metacontroller-apiserver", "the name of the image, without a tag")
	flags.StringVar(&about.version, "version", "", "the version of the programs, such as v1.2.3; the tag of the image")
	flags.StringVar(&about.revision, "revision", "", "the Git commit of the programs")
	flags.StringVar(&created, "created", "", "the time of the commit, in RFC 3339")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if about.version == "" || about.revision == "" || flags.NArg() == 0 {
		return fmt.Errorf("a version, a revision and a program are needed")
	}
	var err error
	if about.created, err = time.Parse(time.RFC3339, created); err != nil {
		return fmt.Errorf("--created: %w", err)
	}
	index, err := pack(about, flags.Args())
	if err != nil {
		return err
	}
	return writeArchive(*output, index, about)
}
