// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

const (
	// withFlag is an example whose server has a flag.
	withFlag = "target-label-selector"
	// onPages is an example that pages of the documentation use, too.
	onPages = "helloworld"
)

func TestTheExamplesDoWhatTheirREADMEsSay(t *testing.T) {
	t.Parallel()
	for _, example := range examples(t) {
		if example == withFlag || example == onPages {
			continue
		}
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			follow(t, example)
		})
	}
}

// No other test runs meanwhile.
func TestTheExampleWithAFlagOfTheServer(t *testing.T) {
	before := env.Server.Args
	restart := func(args ...string) {
		env.StopServer(t)
		env.Server.Args = args
		env.StartServer(t)
	}
	defer func() { restart(before...) }()
	restart(append(slices.Clone(before), "--target-label-selector=team=blue")...)
	follow(t, withFlag)
}

// examples returns the names of the examples.
func examples(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "examples", "*", "README.md"))
	if err != nil || len(pages) < 9 {
		t.Fatalf("the examples are %q, error %v", pages, err)
	}
	var names []string
	for _, page := range pages {
		names = append(names, filepath.Base(filepath.Dir(page)))
	}
	return names
}

var (
	hookPort = regexp.MustCompile(`url: https?://(?:127\.0\.0\.1|localhost):(\d+)`)
	// nextPort is that of a version of the hook that is only previewed.
	nextPort = regexp.MustCompile(`--hook http://localhost:(\d+)`)
)

// follow does what the README of an example says, in a copy of the example's folder.
func follow(t *testing.T, example string) {
	t.Helper()
	page := read(t, filepath.Join("artifacts", "examples", example, "README.md"))
	reader := readerIn(t, "")
	controller, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "examples", example, "controller.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if port := hookPort.FindSubmatch(controller); port != nil {
		anotherPort(t, reader, string(port[1]))
	} else if !bytes.Contains(controller, []byte("inline:")) {
		t.Fatal("the controller calls no hook on this machine")
	}
	for _, block := range page.Blocks {
		if next := nextPort.FindStringSubmatch(block.Text); next != nil {
			anotherPort(t, reader, next[1])
			break
		}
	}
	reader.Folder = filepath.Join(checkout(t, reader), "artifacts", "examples", example)
	if reader.Follow(t, page) < 3 {
		t.Error("the README hardly has commands")
	}
}
