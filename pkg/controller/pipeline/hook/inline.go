// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
)

// inlineAddress is shown in place of the URL that other hooks have.
const inlineAddress = "inline"

// newInline returns a hook that is written in the controller. It reads answers as strict hooks of version v2 do.
func newInline(name string, hook *v1alpha1.InlineHook, options Options) (*Webhook, error) {
	form := inline.Form{Customizes: name == Customize, Finalizes: name == Finalize, Decorates: options.Decorates}
	template, errs := inline.Compile(hook, form, field.NewPath("spec", "hooks", name, "inline"))
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	limit, whyLimit := maxResponse(name, options.MaxResponseBytes)
	return &Webhook{
		name:     name,
		version:  v1alpha1.HookVersionV2,
		mode:     v1alpha1.ResponseUnmarshallModeStrict,
		shown:    inlineAddress,
		limit:    limit,
		whyLimit: whyLimit,
		inline:   template,
		turn:     make(chan struct{}, 1),
		breaker:  &circuitBreaker{},
		etags:    newETagCache(&v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}, options.etagCaches()),
		spare:    &spareBuffers{},

		mayCall:       options.MayCall,
		calls:         options.Calls,
		developerMode: options.DeveloperMode,
	}, nil
}

// ask returns the reply to a request: that of the webhook, or that of the template of an inline hook. etag is the ETag
// of the cached answer; empty if there is none.
func (w *Webhook) ask(ctx context.Context, posted *buffer, trigger pipeline.Trigger, etag string) (reply, error) {
	if w.inline == nil {
		return w.post(ctx, posted, trigger, etag)
	}
	return w.evaluate(ctx, posted.bytes, etag)
}

// decodedFactor is how many times its size a request takes in memory while expressions read it.
const decodedFactor = 8

// evaluate answers a request from the template. The ETag of an answer is the hash of its request: a template always has
// the same answer to the same request, so the cached answer counts without another evaluation.
func (w *Webhook) evaluate(ctx context.Context, request []byte, etag string) (reply, error) {
	if w.mayCall != nil {
		if err := w.mayCall(); err != nil {
			return reply{}, err
		}
	}
	evaluated := reply{status: http.StatusOK, sent: true, etag: strconv.FormatUint(xxhash.Sum64(request), 36)}
	if evaluated.etag == etag {
		evaluated.notModified = true
		return evaluated, nil
	}
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
	room, size := roomOf(ctx), decodedFactor*int64(len(request))
	if err := room.take(size); err != nil {
		return reply{}, err
	}
	defer room.free(size)
	answer, err := w.inline.Evaluate(ctx, request, w.limit)
	if ctx.Err() != nil {
		return reply{}, context.Cause(ctx)
	}
	if err != nil {
		redactor := redact.Redactor{Request: request}
		return evaluated, &evaluationError{redactor.Values(err.Error())}
	}
	evaluated.body = bytes.NewBuffer(answer)
	return evaluated, nil
}

// evaluationError is the error of a template that has no answer to a request. It shows nothing about whether the hook is
// up, so it counts as an unreadable answer.
type evaluationError struct{ text string }

func (e *evaluationError) Error() string { return e.text }

// Is reports whether the target is ErrUnreadable.
func (e *evaluationError) Is(target error) bool { return target == ErrUnreadable }
