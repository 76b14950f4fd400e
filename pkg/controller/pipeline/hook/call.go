// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/calllog"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/tracing"
)

// The log levels at which the authors of hooks see more.
const (
	// strictErrorVerbosity shows the fields of answers that are ignored.
	strictErrorVerbosity = 4
	// bodyVerbosity shows the bodies of requests and answers.
	bodyVerbosity = 6
)

// question is the content of a call. Nothing keeps it, so its functions are not allocated.
type question struct {
	// nothing is the answer that wants nothing to exist.
	nothing string
	// size is about how long the body of the request is, and request appends it.
	size    int
	request func(to []byte) []byte
	// decode reads the answer. It reports whether the bytes of the answer can be reused afterwards.
	decode func(d *protocol.Decoder, answer []byte) (free bool, err error)
}

// call calls the hook about the parent of a snapshot. If the circuit is open, it does not call, and returns a
// *CircuitOpenError. All errors name the hook.
func (w *Webhook) call(ctx context.Context, snapshot *pipeline.Snapshot, q question) (err error) {
	room := roomOf(ctx)
	if err := room.take(int64(q.size)); err != nil {
		return w.explain(err)
	}
	defer room.free(int64(q.size))
	if w.preview != nil {
		return w.callForPreview(ctx, snapshot, q)
	}
	parent := cmp.Or(snapshot.Present, snapshot.Parent)
	if err := w.breaker.allow(parent, snapshot.Trigger == pipeline.TriggerRequest, time.Now()); err != nil {
		return w.explain(err)
	}
	defer func() {
		if after := w.breaker.done(parent, err, time.Now()); after > 0 {
			err = &downError{err, after}
		}
	}()
	ctx, span := tracing.Start(ctx, "hook")
	defer func() { span.Fail(err); span.End() }()
	posted := w.spare.requests.get()
	defer posted.release()
	posted.bytes = q.request(posted.bytes)
	w.logRequest(ctx, posted.bytes)
	etags := w.etagCacheFor(snapshot)
	began := time.Now()
	cached := etags.get(parent.UID, began)
	reply, err := w.ask(ctx, posted, snapshot.Trigger, cached)
	took := time.Since(began)
	if err != nil {
		w.keep(etags, parent.UID, &reply, nil, err)
		w.record(ctx, snapshot, began, took, posted.bytes, &reply, nil, err)
		return w.explain(err)
	}
	if w.developerMode {
		w.logIfSlow(ctx, took)
	}
	answer := cached.body
	if !reply.notModified {
		answer = reply.body.Bytes()
	}
	if span.IsRecorded() {
		span.Set(tracing.Hook.String(w.name), tracing.URL.String(w.shown), tracing.Status.Int(reply.status),
			tracing.Sent.Int(len(posted.bytes)), tracing.Received.Int(len(answer)))
	}
	free, err := w.read(ctx, q, posted.bytes, reply, answer)
	w.record(ctx, snapshot, began, took, posted.bytes, &reply, answer, err)
	w.keep(etags, parent.UID, &reply, answer, err)
	if err != nil {
		return w.explain(err)
	}
	if free {
		w.reuse(reply.body)
	}
	return nil
}

// keep caches an answer that has an ETag. Only inline hooks always have the same error for the same request.
func (w *Webhook) keep(etags *etagCache, parent types.UID, reply *reply, answer []byte, err error) {
	if reply.etag == "" || reply.notModified || err != nil && w.inline == nil {
		return
	}
	if err != nil {
		answer = nil
	}
	etags.put(parent, reply.etag, answer, err, time.Now())
}

// ask returns the reply to a request, from the webhook or from the template of an inline hook.
func (w *Webhook) ask(
	ctx context.Context, posted *buffer, trigger pipeline.Trigger, cached cachedAnswer,
) (reply, error) {
	if w.inline == nil {
		return w.post(ctx, posted, trigger, cached.etag)
	}
	if w.mayCall != nil {
		if err := w.mayCall(); err != nil {
			return reply{}, err
		}
	}
	return w.inline.answer(ctx, posted.bytes, cached)
}

// record keeps a call as a HookCall.
func (w *Webhook) record(
	ctx context.Context, snapshot *pipeline.Snapshot, began time.Time, took time.Duration,
	request []byte, reply *reply, answer []byte, err error,
) {
	if !reply.sent || err != nil && ctx.Err() != nil {
		return // the call was not made, or was cut short because the controller stops
	}
	result := v1alpha1.HookCallSucceeded
	if err != nil {
		result = v1alpha1.HookCallFailed
		if _, ok := errors.AsType[*ThrottledError](err); ok {
			result = v1alpha1.HookCallThrottled
		}
	}
	w.calls.Add(&calllog.Call{
		Hook: w.name, URL: w.shown, Snapshot: snapshot, Began: began, Took: took,
		Code: reply.status, Result: result, Err: err,
		Request: request, Answer: answer, Credentials: reply.credentials,
	})
}

// read reads the answer of a reply. It reports whether the bytes of the answer can be reused afterwards.
func (w *Webhook) read(
	ctx context.Context, q question, request []byte, reply reply, answer []byte,
) (free bool, err error) {
	d := &protocol.Decoder{
		Redactor:       redact.Redactor{Credentials: reply.credentials, Request: request, Answer: answer},
		FindDuplicates: w.strict() || w.logsStrictErrors(ctx),
		Whole:          w.developerMode,
	}
	// Log the answer before judging it: if it is wrong, the log shows best why.
	w.logAnswer(ctx, reply.status, answer, &d.Redactor)
	if reply.status != http.StatusOK && !reply.notModified {
		advice := w.transport.ExplainStatus(reply.status)
		return false, &statusError{status: reply.status, body: d.Show(answer), advice: advice}
	}
	if w.strict() && protocol.IsNull(answer) {
		return false, w.forgottenAnswer(strings.Clone(q.nothing)) // a clone, because the error keeps it
	}
	if free, err = q.decode(d, answer); err != nil {
		if isPage(answer) {
			err = &pageError{err}
		}
		return false, err
	}
	return free, w.checkStrict(ctx, d)
}

// etagCacheFor returns the ETag cache for answers about the snapshot's parent. It returns nil for an earlier version of
// the parent, which has the UID and the generation of the current one: a hook may have made its ETag from these.
func (w *Webhook) etagCacheFor(snapshot *pipeline.Snapshot) *etagCache {
	if snapshot.Present != nil {
		return nil
	}
	return w.etags
}

// logIfSlow logs a call that comes near the timeout.
func (w *Webhook) logIfSlow(ctx context.Context, took time.Duration) {
	if took > w.timeout/2 {
		klog.FromContext(ctx).Info("Hook call took more than half of its timeout", "hook", w.name, "url", w.shown,
			"took", took.Round(time.Millisecond), "timeout", w.timeout)
	}
}

// logRequest logs the body of a request.
func (w *Webhook) logRequest(ctx context.Context, body []byte) {
	if logger := klog.FromContext(ctx).V(bodyVerbosity); logger.Enabled() {
		redactor := redact.Redactor{Request: body}
		logger.Info("Hook request", "hook", w.name, "url", w.shown, "bytes", len(body), "body", redactor.Body(body))
	}
}

// logAnswer logs an answer of any status. With 304 or 412, that is the one from the ETag cache.
func (w *Webhook) logAnswer(ctx context.Context, status int, body []byte, redactor *redact.Redactor) {
	if logger := klog.FromContext(ctx).V(bodyVerbosity); logger.Enabled() {
		logger.Info("Hook answer", "hook", w.name, "url", w.shown,
			"status", status, "bytes", len(body), "body", redactor.Body(body))
	}
}

// explain adds to an error which hook it is about.
func (w *Webhook) explain(err error) error {
	if w.name == Finalize {
		return fmt.Errorf("%s hook failed, and the object cannot be deleted until it succeeds: %s: %w", w.name, w.shown, err)
	}
	return fmt.Errorf("%s hook failed: %s: %w", w.name, w.shown, err)
}

// Preview says how hooks are called for previews. Its functions may be called concurrently.
type Preview struct {
	// Answer returns an answer to use in place of the hook's. If it returns neither an answer nor an error, the hook is
	// called.
	Answer func(Call) (answer []byte, err error)
	// Request returns the body to send in place of the call's. If it returns nil, the body of the call is sent.
	Request func(Call) []byte
	// Ended is called when a call has ended.
	Ended func(Call)
}

// Call is one call for a preview. Its users must not change its bytes.
type Call struct {
	// Hook is Sync, Finalize or Customize. Inline is true if it is written in the controller.
	Hook   string
	Inline bool
	// Snapshot is the state that the call is about.
	Snapshot *pipeline.Snapshot
	// Request is the body that is sent.
	Request []byte
	// Answer is the body of the response, or what was used in its place; nil if there is none.
	Answer []byte
	// Made is true if the hook was called. Credentials are those that it was called with.
	Made        bool
	Credentials []string
	// Err says why there is no usable answer; nil if there is one.
	Err error
}

// Preview returns a webhook that calls the same hook for a preview, over the same connections. Its calls carry a header
// and leave nothing behind: they count neither in metrics nor for the circuit breaker, which does not block them, and
// no ETag is sent or kept. The caller must not close it.
func (w *Webhook) Preview(preview *Preview) *Webhook {
	if w == nil {
		return nil
	}
	of := *w
	of.preview = preview
	if w.inline != nil {
		of.inline = w.inline.unmeasured()
		return &of
	}
	unmeasured, _ := (*Metrics)(nil).measure(w.transport, w.name, w.shown, ControllerRef{})
	of.client = &http.Client{Transport: unmeasured, CheckRedirect: w.client.CheckRedirect}
	return &of
}

// callForPreview is call for previews.
func (w *Webhook) callForPreview(ctx context.Context, snapshot *pipeline.Snapshot, q question) (err error) {
	call := Call{Hook: w.name, Inline: w.inline != nil, Snapshot: snapshot, Request: q.request(nil)}
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

// postForPreview posts a request that the caller keeps.
func (w *Webhook) postForPreview(ctx context.Context, request []byte, trigger pipeline.Trigger) (reply, error) {
	posted := w.spare.requests.get()
	defer posted.release()
	posted.bytes = append(posted.bytes, request...)
	return w.ask(ctx, posted, trigger, cachedAnswer{})
}
