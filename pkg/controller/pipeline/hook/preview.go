// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"net/http"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Preview is how hooks are asked for previews. Its functions may be called concurrently.
type Preview struct {
	// Answer returns the answer that is taken for that of the hook. If it returns neither an answer nor
	// an error, the hook is called.
	Answer func(Call) (answer []byte, err error)
	// Request returns the body to send in place of the call's; nil sends that.
	Request func(Call) []byte
	// Ended is called with each call at its end.
	Ended func(Call)
}

// Call is one call for a preview. Its bytes must not be changed.
type Call struct {
	// Hook is Sync, Finalize or Customize.
	Hook string
	// Snapshot is what the call is about.
	Snapshot *pipeline.Snapshot
	// Request is what is sent.
	Request []byte
	// Answer is what the hook has answered, or what was taken for it; nil if there is nothing.
	Answer []byte
	// Made is true if the hook was called. Credentials are what it was called with.
	Made        bool
	Credentials []string
	// Err is why there is no answer that can be used; nil if there is one.
	Err error
}

// Preview returns a webhook that asks the same hook for a preview, over the same connections. Its calls
// carry a header and leave nothing behind: they count neither in metrics nor for the circuit breaker, which
// does not hold them back, and no ETag is sent or kept. It must not be closed.
func (w *Webhook) Preview(preview *Preview) *Webhook {
	if w == nil {
		return nil
	}
	of := *w
	of.preview = preview
	unmeasured, _ := (*Metrics)(nil).measure(w.transport, w.name, w.shown, ControllerRef{})
	of.client = &http.Client{Transport: unmeasured, CheckRedirect: w.client.CheckRedirect}
	return &of
}

// callForPreview is call for previews.
func (w *Webhook) callForPreview(ctx context.Context, snapshot *pipeline.Snapshot, q question) (err error) {
	call := Call{Hook: w.name, Snapshot: snapshot, Request: q.request(nil)}
	if body := w.preview.Request(call); body != nil {
		call.Request = body
	}
	defer func() {
		call.Err = err
		w.preview.Ended(call)
	}()
	var reply reply
	if call.Answer, err = w.preview.Answer(call); err != nil {
		return err
	}
	if call.Answer != nil {
		reply.status = http.StatusOK
	} else {
		w.logRequest(ctx, call.Request)
		call.Made = true
		if reply, err = w.postForPreview(ctx, call.Request, snapshot.Trigger); err != nil {
			return w.explain(err)
		}
		call.Answer, call.Credentials = reply.body.Bytes(), reply.credentials
	}
	if _, err := w.read(ctx, q, call.Request, reply, call.Answer); err != nil {
		return w.explain(err)
	}
	return nil
}

// postForPreview is post with a request that the caller keeps.
func (w *Webhook) postForPreview(ctx context.Context, request []byte, trigger pipeline.Trigger) (reply, error) {
	posted := w.spare.requests.get()
	defer posted.release()
	posted.bytes = append(posted.bytes, request...)
	return w.post(ctx, posted, trigger, "")
}
