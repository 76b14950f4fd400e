// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// Session is what the commands of files work with.
type Session struct {
	Env *harness.Env
	// Users are the paths of kubeconfigs, by prompts.
	Users map[string]string
	// Objects are what inputs are patches of, by kind: JSON, in which $NAME is the name in the input.
	Objects map[string][]byte
	// Words stand in files for texts that are long or differ from run to run.
	Words []Word
	// Patterns are what else differs from run to run in what commands print.
	Patterns []Pattern
	// Path has the folders of programs beside kubectl.
	Path []string
	// Update has Play write the files instead of comparing.
	Update bool
}

// Word is a word in files, such as $HOOK, and its meaning.
type Word struct{ Word, Meaning string }

// Pattern is a word in files for all texts that match.
type Pattern struct {
	Word  string
	Match *regexp.Regexp
}

// Play runs the commands of a file one after the other. The test fails for each that prints something
// else than the file says.
func (s *Session) Play(t *testing.T, path string) {
	t.Helper()
	all, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.user == "" {
			continue
		}
		output := s.run(t, p)
		if s.Update {
			p.output = output
		} else if diff := cmp.Diff(p.output, output); diff != "" {
			t.Errorf("%s\nprints something else (-want +got):\n%s", p.prompt, diff)
		}
	}
	if s.Update {
		if err := write(path, all); err != nil {
			t.Fatal(err)
		}
	}
}

// run returns what a command prints.
func (s *Session) run(t *testing.T, p *paragraph) string {
	t.Helper()
	kubeconfig, known := s.Users[p.user]
	if !known {
		t.Fatalf("nobody has the prompt of %s", p.prompt)
	}
	command := s.Env.Host.KubectlCommand(t.Context())
	command.Env = append(command.Env, "KUBECONFIG="+kubeconfig, "PATH="+strings.Join(append(slices.Clone(s.Path), filepath.Dir(s.Env.Host.Kubectl()), "/usr/bin", "/bin"), ":"))
	shell := exec.CommandContext(t.Context(), "sh", "-c", s.Meaning(p.command))
	shell.Env = command.Env
	if p.input != "" {
		input, err := s.object(s.Meaning(p.input))
		if err != nil {
			t.Fatalf("%v in the input of %s", err, p.prompt)
		}
		shell.Stdin = strings.NewReader(string(input))
	}
	output, err := shell.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v, of %s", err, p.prompt)
	}
	return s.inWords(strings.TrimSpace(string(output)))
}

// object returns the object of the session that a patch in YAML names by its kind, patched.
func (s *Session) object(patch string) ([]byte, error) {
	document, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		return nil, err
	}
	var of metav1.PartialObjectMetadata
	if err := json.Unmarshal(document, &of); err != nil {
		return nil, err
	}
	base, known := s.Objects[of.Kind]
	if !known {
		return nil, fmt.Errorf("there is no object of kind %q", of.Kind)
	}
	return jsonpatch.MergePatch(bytes.ReplaceAll(base, []byte("$NAME"), []byte(of.Name)), document)
}

// Meaning returns a text with the meanings of its words.
func (s *Session) Meaning(text string) string {
	for _, word := range s.Words {
		text = strings.ReplaceAll(text, word.Word, word.Meaning)
	}
	return text
}

// inWords returns a text with words in place of their meanings.
func (s *Session) inWords(text string) string {
	for _, word := range s.Words {
		text = strings.ReplaceAll(text, word.Meaning, word.Word)
	}
	for _, pattern := range s.Patterns {
		text = pattern.Match.ReplaceAllLiteralString(text, pattern.Word)
	}
	return text
}
