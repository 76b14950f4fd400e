// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
)

// Warnings are the texts with which the host warns in its answers to some requests. Its methods may be
// called concurrently.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// CollectWarnings returns a context for requests, and the warnings of their answers. The warnings of
// other requests are logged.
func CollectWarnings(ctx context.Context) (context.Context, *Warnings) {
	warnings := &Warnings{}
	return context.WithValue(ctx, warningsKey{}, warnings), warnings
}

// withoutWarnings returns a context in which the warnings of requests are dropped.
func withoutWarnings(ctx context.Context) context.Context {
	return context.WithValue(ctx, warningsKey{}, (*Warnings)(nil))
}

// Texts returns the warnings so far, each once.
func (w *Warnings) Texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.texts)
}

func (w *Warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

type warningsKey struct{}

// warningHandler hands the warnings of an answer to the context of the request.
type warningHandler struct{}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (warningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	const fromServer = 299
	switch warnings, collected := ctx.Value(warningsKey{}).(*Warnings); {
	case !collected:
		rest.WarningLogger{}.HandleWarningHeaderWithContext(ctx, code, agent, text)
	case warnings != nil && code == fromServer && text != "":
		warnings.add(text)
	}
}
