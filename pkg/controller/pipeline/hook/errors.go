// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
)

// ErrMalformed is wrapped by every error about the content of an answer.
var ErrMalformed = protocol.ErrMalformed

// SourceError is the error of Connect if a Secret or ConfigMap is missing or unusable.
type SourceError = transport.SourceError

// Answered reports whether a call that ended with this error, or without one, shows that the hook is up. Besides
// success, three errors do: a malformed answer that is not the page of a proxy, a request to call later, and an answer
// that does not fit into the budget.
func Answered(err error) bool {
	_, throttled := errors.AsType[*ThrottledError](err)
	_, page := errors.AsType[*pageError](err)
	return err == nil || throttled || isNoRoom(err) || errors.Is(err, ErrMalformed) && !page
}

// pageError is the error of an answer that is empty or not JSON. A proxy may answer so in the place of a hook that is
// down, as with an error status.
type pageError struct{ error }

func (e *pageError) Unwrap() error { return e.error }

// isPage reports whether an answer that cannot be read is empty or not JSON. An answer that begins like a JSON object
// is from the hook.
func isPage(answer []byte) bool {
	answer = bytes.TrimSpace(answer)
	return len(answer) == 0 || answer[0] != '{' && !jsontext.Value(answer).IsValid()
}

// downError is the error of a call that failed while the hook counts as down.
type downError struct {
	error
	retryAfter time.Duration
}

func (e *downError) Unwrap() error { return e.error }

// RetryAfter returns the time after which a parent is synced again at the latest if a call about it ended with this
// error. It is zero if nothing shows that later calls may succeed without a change of the parent.
func RetryAfter(err error) time.Duration {
	if down, ok := errors.AsType[*downError](err); ok {
		return down.retryAfter
	}
	if throttled, ok := errors.AsType[*ThrottledError](err); ok && throttled.After == 0 || isNoRoom(err) {
		return maxPause
	}
	return 0
}

// statusError is the error of a call whose response has an HTTP status other than 200.
type statusError struct {
	status int
	body   string
	// advice says what to do, after a semicolon; empty if the status does not show what to do.
	advice string
}

func (e *statusError) Error() string {
	switch {
	case e.body == "" && e.status >= http.StatusInternalServerError:
		return fmt.Sprintf("unsupported status code: %d without a body (200 is expected): see the log of the hook", e.status)
	case e.body == "":
		return fmt.Sprintf("unsupported status code: %d without a body (200 is expected)%s", e.status, e.advice)
	}
	return fmt.Sprintf("unsupported status code: %d body: %s (200 is expected)%s", e.status, e.body, e.advice)
}

// fromHook reports whether the status comes from the hook itself, and not from a proxy that cannot
// reach it.
func (e *statusError) fromHook() bool {
	switch e.status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}

// timeoutError is the error of a call that takes longer than the timeout of its hook.
type timeoutError struct {
	hook    string
	timeout time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no complete answer within %s: make the hook faster, "+
		"or set a longer spec.hooks.%s.webhook.timeout", e.timeout, e.hook)
}

// oldConnectionError is the error of a call that took too long over a connection that was used before. The connection
// may be dead, so the error shows nothing about the hook.
type oldConnectionError struct{ error }

func (e *oldConnectionError) Unwrap() error { return e.error }
