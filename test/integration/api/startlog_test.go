// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// A person finds in the log what a start did. Libraries log lines of their own in between.
func TestTheLogOfAStart(t *testing.T) {
	const last = `"Running the controllers"`
	var start string
	env.Eventually(t, func(context.Context) error {
		log, err := os.ReadFile(env.Server.LogPath)
		if err != nil {
			return err
		}
		var found bool
		if start, _, found = strings.Cut(string(log), last); !found {
			return errors.New("the log does not say that the controllers run")
		}
		return nil
	})
	rest := start + last
	for _, line := range []string{
		`"Starting"`, `"Storing objects in the embedded etcd"`, `"Extending the cluster"`, `"Serving"`, last,
	} {
		_, after, found := strings.Cut(rest, "] "+line)
		if !found {
			t.Fatalf("the log lacks %s, or has it too early:\n%s", line, start)
		}
		rest = after
	}
}
