// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
)

// ErrUnreadable begins every error about the content of an answer.
var ErrUnreadable = protocol.ErrUnreadable

// SourceError is the error of Connect if a Secret or ConfigMap is missing or unusable.
type SourceError = transport.SourceError

// Answered reports whether a call that ended with this error, or without one, has shown that the
// hook is there. An unreadable answer shows it, and so does a request to call again later.
func Answered(err error) bool {
	_, throttled := errors.AsType[*ThrottledError](err)
	return err == nil || throttled || errors.Is(err, ErrUnreadable)
}

// statusError is the error of a call that was answered with an HTTP status other than 200.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("unsupported status code: %d body: %s (200 is expected)", e.status, e.body)
}

// fromHook reports whether the status comes from the hook itself, and not from a proxy that cannot
// reach it.
func (e *statusError) fromHook() bool {
	return e.status != http.StatusBadGateway && e.status != http.StatusServiceUnavailable && e.status != http.StatusGatewayTimeout
}
