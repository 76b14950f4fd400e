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

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
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

// question is what a call asks a hook. It is not kept, so that its functions cost nothing.
type question struct {
	// nothing is the answer that asks for nothing.
	nothing string
	// size is about how long the body of the request is, and request appends it.
	size    int
	request func(to []byte) []byte
	// decode reads the answer. It reports whether the bytes of the answer are free for other uses
	// afterwards.
	decode func(d *protocol.Decoder, answer []byte) (free bool, err error)
}

// call asks the hook about the parent of a snapshot, unless its circuit is open: then the error is a
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
	reply, err := w.post(ctx, posted, snapshot.Trigger, cached.etag)
	took := time.Since(began)
	if err != nil {
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
		span.Set(tracing.Hook.String(w.name), tracing.URL.String(w.shown), tracing.Status.Int(reply.status), tracing.Sent.Int(len(posted.bytes)), tracing.Received.Int(len(answer)))
	}
	free, err := w.read(ctx, q, posted.bytes, reply, answer)
	w.record(ctx, snapshot, began, took, posted.bytes, &reply, answer, err)
	if err != nil {
		return w.explain(err)
	}
	if reply.etag != "" && !reply.notModified {
		etags.put(parent.UID, reply.etag, answer, time.Now())
	}
	if free {
		w.reuse(reply.body)
	}
	return nil
}

// record keeps a call for those who look at HookCalls.
func (w *Webhook) record(ctx context.Context, snapshot *pipeline.Snapshot, began time.Time, took time.Duration, request []byte, reply *reply, answer []byte, err error) {
	if !reply.sent || err != nil && ctx.Err() != nil {
		return // it was not made, or was given up because the controller stops
	}
	result := v1alpha1.HookCallSucceeded
	if err != nil {
		result = v1alpha1.HookCallFailed
		if _, ok := errors.AsType[*ThrottledError](err); ok {
			result = v1alpha1.HookCallThrottled
		}
	}
	w.calls.Add(&calllog.Call{
		Hook: w.name, URL: w.shown, Snapshot: snapshot, Began: began, Took: took, Code: reply.status, Result: result, Err: err,
		Request: request, Answer: answer, Credentials: reply.credentials,
	})
}

// read reads the answer of a reply. It reports whether the bytes of the answer are free for other uses
// afterwards.
func (w *Webhook) read(ctx context.Context, q question, request []byte, reply reply, answer []byte) (free bool, err error) {
	d := &protocol.Decoder{
		Redactor:       redact.Redactor{Credentials: reply.credentials, Request: request, Answer: answer},
		FindDuplicates: w.strict() || w.logsStrictErrors(ctx),
		Whole:          w.developerMode,
	}
	// An answer is logged before it is judged: what is wrong with it is best seen in it.
	w.logAnswer(ctx, reply.status, answer, &d.Redactor)
	if reply.status != http.StatusOK && !reply.notModified {
		return false, &statusError{status: reply.status, body: d.Show(answer), advice: w.transport.ExplainStatus(reply.status)}
	}
	if w.strict() && protocol.IsNull(answer) {
		return false, w.forgottenAnswer(strings.Clone(q.nothing)) // what becomes part of an error is kept
	}
	if free, err = q.decode(d, answer); err != nil {
		return false, err
	}
	return free, w.checkStrict(ctx, d)
}

// etagCacheFor returns the ETag cache for answers about the snapshot's parent. There is none for an
// earlier version of the parent: it has the UID and the generation of the present one, and a hook
// may have made its ETag from these.
func (w *Webhook) etagCacheFor(snapshot *pipeline.Snapshot) *etagCache {
	if snapshot.Present != nil {
		return nil
	}
	return w.etags
}

// checkStrict returns the strict errors of an answer as one error if the hook is read strictly.
// Otherwise it logs them.
func (w *Webhook) checkStrict(ctx context.Context, d *protocol.Decoder) error {
	found := d.StrictErrors()
	if len(found) == 0 || !w.strict() && !w.logsStrictErrors(ctx) {
		return nil
	}
	if w.strict() {
		texts := make([]string, len(found))
		for i, err := range found {
			texts[i] = err.Error()
		}
		return fmt.Errorf("%w: %s; %s, unknown and duplicate fields are errors",
			ErrUnreadable, d.Redactor.Values(strings.Join(texts, ", ")), w.whyStrict())
	}
	all := d.Redactor.Values(utilerrors.NewAggregate(found).Error())
	klog.FromContext(ctx).Info("Hook answer has fields that are ignored", "hook", w.name, "url", w.shown, "fields", all)
	return nil
}

// strict reports whether an answer with strict errors is an error as a whole.
func (w *Webhook) strict() bool { return w.mode == v1alpha1.ResponseUnmarshallModeStrict }

// whyStrict says what in the spec of a hook has it read strictly.
func (w *Webhook) whyStrict() string {
	if w.version == v1alpha1.HookVersionV2 {
		return "with version: v2"
	}
	return "with responseUnMarshallMode: strict"
}

// logsStrictErrors reports whether strict errors are logged.
func (w *Webhook) logsStrictErrors(ctx context.Context) bool {
	return w.developerMode || klog.FromContext(ctx).V(strictErrorVerbosity).Enabled()
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
		logger.Info("Hook answer", "hook", w.name, "url", w.shown, "status", status, "bytes", len(body), "body", redactor.Body(body))
	}
}

// explain adds to an error which hook it is about.
func (w *Webhook) explain(err error) error {
	if w.name == Finalize {
		return fmt.Errorf("%s hook failed, and the object cannot be deleted until it succeeds: %s: %w", w.name, w.shown, err)
	}
	return fmt.Errorf("%s hook failed: %s: %w", w.name, w.shown, err)
}
