// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// controllerGoroutines counts the goroutines of controllers, their watches and connections. Those
// that serve the API come and go with its clients.
func (e *Env) controllerGoroutines(ctx context.Context) (map[string]int, error) {
	counts, err := e.Goroutines(ctx)
	maps.DeleteFunc(counts, func(creator string, _ int) bool {
		return !slices.ContainsFunc([]string{"/pkg/controller", "client-go/tools/cache", "apimachinery/pkg/watch", "priorityqueue", "net/http.(*Transport)"},
			func(part string) bool { return strings.Contains(creator, part) })
	})
	return counts, err
}

// StableGoroutines counts the server's goroutines for controllers, by the function that started
// them. It waits until the controllers of earlier tests are gone.
func (e *Env) StableGoroutines(t testing.TB) map[string]int {
	t.Helper()
	var stable map[string]int
	same := 0
	e.Eventually(t, func(ctx context.Context) error {
		counts, err := e.controllerGoroutines(ctx)
		if err != nil {
			return err
		}
		if !maps.Equal(counts, stable) {
			stable, same = counts, 0
		}
		if same++; same < 20 {
			return fmt.Errorf("the goroutines are not the same for a while: %v", counts)
		}
		return nil
	})
	return stable
}

// WaitForGoroutines waits until no function has more goroutines than before.
func (e *Env) WaitForGoroutines(t testing.TB, before map[string]int) {
	t.Helper()
	e.Eventually(t, func(ctx context.Context) error {
		after, err := e.controllerGoroutines(ctx)
		if err != nil {
			return err
		}
		var left []string
		for creator, count := range after {
			if more := count - before[creator]; more > 0 {
				left = append(left, fmt.Sprintf("%d of %s", more, creator))
			}
		}
		if len(left) > 0 {
			slices.Sort(left)
			return fmt.Errorf("goroutines are left: %s", strings.Join(left, ", "))
		}
		return nil
	})
}
