// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localhook calls hooks on the machine of the user, which the server cannot reach. It can also start their
// programs.
package localhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// Hook calls the hooks of controllers at an address on this machine.
type Hook struct {
	base   *url.URL
	client *http.Client
}

// defaultTimeout is the timeout of webhooks whose spec has none.
const defaultTimeout = 10 * time.Second

// maxBytes is how large an answer may be.
const maxBytes = 32 << 20

// At returns the hook at a URL, such as http://localhost:8080. The paths of webhooks are appended to it.
func At(address string) (*Hook, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the hook: %w", err)
	}
	if base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the address of the hook must be a URL such as http://localhost:8080, not %q", address)
	}
	return &Hook{base: base, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// URL returns the local URL of a webhook.
func (h *Hook) URL(webhook *v1alpha1.Webhook) (string, error) {
	inSpec, err := webhook.Address().Parse()
	if err != nil {
		return "", err
	}
	here := *h.base
	here.Path, here.RawPath = strings.TrimSuffix(here.Path, "/")+inSpec.Path, ""
	here.RawQuery = inSpec.RawQuery
	return here.String(), nil
}

// Controller has the addresses of the hooks of a controller: sync, finalize and customize. It returns nil for a hook
// that the controller does not have.
type Controller interface {
	Webhook(name string) *v1alpha1.Webhook
}

// Of returns a function that calls the hooks of a controller by name.
func (h *Hook) Of(controller Controller) func(ctx context.Context, name string, request []byte) ([]byte, error) {
	return func(ctx context.Context, name string, request []byte) ([]byte, error) {
		webhook := controller.Webhook(name)
		if webhook == nil {
			return nil, fmt.Errorf("the controller no longer has the hook %s", name)
		}
		return h.Call(ctx, webhook, request)
	}
}

// Call sends a request to a webhook and returns its answer, which is a JSON object.
func (h *Hook) Call(ctx context.Context, webhook *v1alpha1.Webhook, request []byte) ([]byte, error) {
	address, err := h.URL(webhook)
	if err != nil {
		return nil, err
	}
	timeout := defaultTimeout
	if webhook.Timeout != nil {
		if given, err := time.ParseDuration(string(*webhook.Timeout)); err == nil && given > 0 {
			timeout = given
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set(hook.PreviewHeader, "true")
	response, err := h.client.Do(post)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("call %s: %w", address, withHint(err))
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s: %w", address, withHint(err))
	case len(answer) > maxBytes:
		return nil, fmt.Errorf("the answer of %s is larger than %d MiB", address, maxBytes>>20)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answered %s: %s", address, response.Status, shown(answer))
	case !isObject(answer):
		return nil, fmt.Errorf("%s did not return a JSON object: %s", address, shown(answer))
	}
	return answer, nil
}

// withHint adds an explanation to an error of a connection, as the server does.
func withHint(err error) error {
	if hint := hook.ClosedHint(err); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	return err
}

func isObject(answer []byte) bool {
	trimmed := bytes.TrimSpace(answer)
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed)
}

// maxShown bounds the bytes of a response that an error shows.
const maxShown = 2000

func shown(answer []byte) string { return text.Shorten(strings.TrimSpace(string(answer)), maxShown) }
