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

var errEvaluationTimeout = fmt.Errorf("costs too much: an evaluation may take %v", evaluationTimeout)

// inlineAddress is shown in place of the URL that other hooks have.
const inlineAddress = "inline"

// newInline returns a hook that is written in the controller. It reads answers as strict hooks of version v2 do.
func newInline(name string, hook *v1alpha1.InlineHook, options Options) (*Webhook, error) {
	template, errs := inline.Compile(hook, inline.FormOf(name, options.Decorates), field.NewPath("spec", "hooks", name, "inline"))
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	limit, whyLimit := maxResponse(name, options.MaxResponseBytes)
	return &Webhook{
		name:     name,
		version:  v1alpha1.HookVersionV2,
		mode:     v1alpha1.ResponseUnmarshallModeStrict,
		shown:    inlineAddress,
		timeout:  evaluationTimeout,
		limit:    limit,
		whyLimit: whyLimit,
		inline:   template,
		breaker:  &circuitBreaker{},
		etags:    newETagCache(&v1alpha1.WebhookEtagConfig{Enabled: ptr.To(true)}, options.etagCaches()),
		spare:    &spareBuffers{},

		mayCall:       options.MayCall,
		deletable:     options.Deletable,
		calls:         options.Calls,
		developerMode: options.DeveloperMode,
	}, nil
}

// decodedFactor is how many times its size a request takes in memory while expressions read it.
const decodedFactor = 8

// evaluate answers a request from a template, with at most limit bytes. The ETag of an answer is the hash of its request: a template always has the same answer to
// the same request, so the cached answer counts without another evaluation. etag is that of the cached answer; empty if
// there is none.
func evaluate(
	ctx context.Context, template *inline.Template, request []byte, limit int64, etag string,
) (reply, error) {
	evaluated := reply{status: http.StatusOK, sent: true, etag: strconv.FormatUint(xxhash.Sum64(request), 36)}
	if evaluated.etag == etag {
		evaluated.notModified = true
		return evaluated, nil
	}
	room, size := roomOf(ctx), decodedFactor*int64(len(request))
	end, err := room.takeTurn(ctx)
	if err != nil {
		return reply{}, err
	}
	defer end()
	if err := room.take(size); err != nil {
		return reply{}, err
	}
	defer room.free(size)
	limited, cancel := context.WithTimeoutCause(ctx, evaluationTimeout, errEvaluationTimeout)
	defer cancel()
	answer, err := template.Evaluate(limited, request, limit)
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

// evaluationError is the error of a template that has no answer to a request. It counts as an unreadable answer, which
// shows nothing about whether a hook is up.
type evaluationError struct{ text string }

func (e *evaluationError) Error() string { return e.text }

// Is reports whether the target is ErrUnreadable.
func (e *evaluationError) Is(target error) bool { return target == ErrUnreadable }
