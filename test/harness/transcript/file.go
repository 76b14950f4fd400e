// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"os"
	"regexp"
	"strings"
)

// paragraph is a part of a file between empty lines: a comment, which has no user, or a command. Empty lines in what a
// command prints belong to it.
type paragraph struct {
	prompt string // the first line
	user   string
	// command and input are on the first line.
	command, input string
	output         string // all other lines
}

var prompt = regexp.MustCompile(`^([a-z]+)\$ (.*)$`)

func read(path string) ([]*paragraph, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []*paragraph
	for text := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n\n") {
		first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
		p := &paragraph{prompt: first, output: rest}
		parts := prompt.FindStringSubmatch(first)
		if parts != nil {
			p.user = parts[1]
			p.command, p.input, _ = strings.Cut(parts[2], " <<< ")
		}
		if last := len(all) - 1; parts == nil && last >= 0 && all[last].user != "" && !strings.HasPrefix(text, "#") {
			all[last].output += "\n\n" + text
			continue
		}
		all = append(all, p)
	}
	return all, nil
}

// Commands returns how many commands a file has.
func Commands(path string) (count int, err error) {
	all, err := read(path)
	for _, p := range all {
		if p.user != "" {
			count++
		}
	}
	return count, err
}

func write(path string, all []*paragraph) error {
	var texts []string
	for _, p := range all {
		texts = append(texts, strings.TrimSpace(p.prompt+"\n"+p.output))
	}
	return os.WriteFile(path, []byte(strings.Join(texts, "\n\n")+"\n"), 0o600)
}
