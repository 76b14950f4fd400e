// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The log of a start says what a person needs, and nothing of what libraries do meanwhile.
func TestTheLogOfAStartHasFewLines(t *testing.T) {
	const last = `"Running the controllers"`
	var lines []string
	env.Eventually(t, func(context.Context) error {
		log, err := os.ReadFile(env.Server.LogPath)
		if err != nil {
			return err
		}
		start, _, found := strings.Cut(string(log), last)
		if !found {
			return errors.New("the log does not say that the controllers run")
		}
		lines = strings.Split(start+last, "\n")
		return nil
	})
	message := regexp.MustCompile(`^[IWE][^"]*\] ("[^"]*")`)
	var said []string
	for _, line := range lines {
		if strings.Contains(line, "Data race detection enabled") {
			continue // of a server that is built with it
		}
		match := message.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("a line of another form: %s", line)
		}
		said = append(said, match[1])
	}
	want := []string{`"Starting"`, `"Storing objects in the embedded etcd"`, `"Made a serving certificate"`, `"Extending the cluster"`, `"Serving"`, last}
	if !slices.Equal(said, want) {
		t.Errorf("the log says %q, want %q:\n%s", said, want, strings.Join(lines, "\n"))
	}
}
