// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Action is what becomes of a request.
type Action func(*Exchange)

// Pass sends the request on and passes the answer back.
func Pass() Action {
	return func(x *Exchange) {
		if x.isStream() {
			x.stream()
			return
		}
		whole := x.ask()
		x.reply(whole, len(whole.body))
	}
}

// Fail answers with an error and does not send the request on. RetryAfter, in seconds, is left out
// if it is 0.
func Fail(code int, reason metav1.StatusReason, message string, retryAfter int) Action {
	return func(x *Exchange) {
		status := metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		}
		body, err := json.Marshal(status)
		if err != nil {
			abort()
		}
		header := http.Header{"Content-Type": {"application/json"}}
		if retryAfter > 0 {
			header.Set("Retry-After", strconv.Itoa(retryAfter))
		}
		x.reply(answer{code: code, header: header, body: body}, len(body))
	}
}

// Drop closes the connection before the request is sent on.
func Drop() Action { return func(*Exchange) { abort() } }

// Lose sends the request on and closes the connection before the answer. A watch does not begin.
func Lose() Action {
	return func(x *Exchange) {
		if x.isStream() {
			abort()
		}
		x.ask()
		abort()
	}
}

// Truncate sends the request on and closes the connection in the middle of the answer. A
// watch does not begin.
func Truncate() Action {
	return func(x *Exchange) {
		if x.isStream() {
			abort()
		}
		whole := x.ask()
		x.reply(whole, len(whole.body)/2)
		_ = http.NewResponseController(x.w).Flush()
		abort()
	}
}

// Delay waits before an action.
func Delay(d time.Duration, then Action) Action {
	return func(x *Exchange) {
		select {
		case <-time.After(d):
		case <-x.r.Context().Done():
		case <-x.proxy.alive.Done():
		}
		then(x)
	}
}

// Hold waits until a channel is closed before an action.
func Hold(until <-chan struct{}, then Action) Action {
	return func(x *Exchange) {
		select {
		case <-until:
		case <-x.r.Context().Done():
		case <-x.proxy.alive.Done():
		}
		then(x)
	}
}

// KillBefore kills the process before the request is sent on. Killed is called once the process is
// cut off.
func KillBefore(killed func()) Action {
	return func(x *Exchange) {
		x.proxy.note("%s: the process dies before it is sent", x.Request)
		x.proxy.Cut()
		killed()
		abort()
	}
}

// KillAfter kills the process when the host has stored the write, before the answer.
func KillAfter(killed func()) Action {
	return func(x *Exchange) {
		x.ask()
		x.proxy.note("%s: the process dies before the answer", x.Request)
		x.proxy.Cut()
		killed()
		abort()
	}
}
