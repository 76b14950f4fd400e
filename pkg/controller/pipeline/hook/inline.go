// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
)

// evaluationTimeout is the longest time that an evaluation may take.
const evaluationTimeout = 10 * time.Second

var errEvaluationTimeout = fmt.Errorf("costs too much: an evaluation may take at most %v", evaluationTimeout)

// inlineAddress is shown in place of the URL that other hooks have.
const inlineAddress = "inline"

// newInline returns a hook that is written in the controller. It reads answers as strict hooks of version v2 do.
func newInline(name string, hook *v1alpha1.InlineHook, options Options) (*Webhook, error) {
	template, errs := inline.Compile(hook, inline.FormOf(name, options.Decorates), field.NewPath("spec", "hooks", name, "inline"))
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	limit, whyLimit := maxResponse(name, options.MaxResponseBytes)
	measured, unmeasure := options.Metrics.measureInline(name, options.Controller)
	spare := &spareBuffers{}
	return &Webhook{
		name:      name,
		version:   v1alpha1.HookVersionV2,
		mode:      v1alpha1.ResponseUnmarshallModeStrict,
		shown:     inlineAddress,
		timeout:   evaluationTimeout,
		limit:     limit,
		whyLimit:  whyLimit,
		inline:    &evaluator{template, limit, spare, measured},
		unmeasure: unmeasure,
		breaker:   &circuitBreaker{},
		etags:     newETagCache(&v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}, options.etagCaches()),
		spare:     spare,

		mayCall:       options.MayCall,
		deletable:     options.Deletable,
		calls:         options.Calls,
		developerMode: options.DeveloperMode,
	}, nil
}

// decodedFactor is how many times its size a request takes in memory while expressions read it.
const decodedFactor = 8

// evaluator answers requests from the template of an inline hook.
type evaluator struct {
	template *inline.Template
	// limit is the maximum size of an answer in bytes.
	limit int64
	spare *spareBuffers
	// measured measures the evaluations; nil in previews.
	measured *evaluations
}

// unmeasured returns the evaluator of previews.
func (e *evaluator) unmeasured() *evaluator { return &evaluator{e.template, e.limit, e.spare, nil} }

// answer returns the reply to a request.
func (e *evaluator) answer(ctx context.Context, request []byte, cached cachedAnswer) (reply, error) {
	return e.measured.measure(func() (reply, error) { return e.evaluate(ctx, request, cached) })
}

// evaluate returns the reply to a request. The ETag is the hash of the request: a template always has the same answer
// or error for the same request, so the cached one counts without another evaluation. The status is the one that a
// webhook would answer.
func (e *evaluator) evaluate(ctx context.Context, request []byte, cached cachedAnswer) (reply, error) {
	evaluated := reply{status: http.StatusOK, sent: true, etag: strconv.FormatUint(xxhash.Sum64(request), 36)}
	switch {
	case evaluated.etag != cached.etag:
	case cached.err != nil:
		evaluated.status, evaluated.notModified = http.StatusInternalServerError, true
		return evaluated, cached.err
	default:
		evaluated.status, evaluated.notModified = http.StatusNotModified, true
		return evaluated, nil
	}
	room, size := roomOf(ctx), decodedFactor*int64(len(request))
	turn, err := room.takeTurn(ctx)
	if err != nil {
		return reply{}, err
	}
	defer turn.end()
	if err := room.take(size); err != nil {
		return reply{}, err
	}
	defer room.free(size)
	limited, cancel := context.WithTimeoutCause(ctx, evaluationTimeout, errEvaluationTimeout)
	defer cancel()
	pause := func() error { return turn.pause(limited) }
	answer, err := e.template.Evaluate(limited, request, e.spare.answer().AvailableBuffer(), e.limit, pause)
	if ctx.Err() != nil {
		return reply{}, context.Cause(ctx)
	}
	if err != nil {
		evaluated.status = http.StatusInternalServerError
		if limited.Err() != nil { // the next evaluation may take less time
			evaluated.etag = ""
		}
		redactor := redact.Redactor{Request: request}
		return evaluated, &evaluationError{redactor.Values(err.Error())}
	}
	evaluated.body = bytes.NewBuffer(answer)
	return evaluated, nil
}

// evaluationError is the error of a template that has no answer to a request. It counts as a malformed answer, which
// shows nothing about whether a hook is up.
type evaluationError struct{ text string }

func (e *evaluationError) Error() string { return e.text }

// Is reports whether the target is ErrMalformed.
func (e *evaluationError) Is(target error) bool { return target == ErrMalformed }
