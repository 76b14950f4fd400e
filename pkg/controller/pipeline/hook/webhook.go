// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/calllog"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
)

// Limits are the limits that administrators set for the hooks of all controllers.
type Limits struct {
	// MaxResponseBytes limits the size of an answer after decompression.
	MaxResponseBytes int64
	// MaxBytesInFlight bounds the bytes of requests and answers that all syncs have in memory at once: the Budget that
	// all hooks share has this size. At least 1.
	MaxBytesInFlight int64
	// Denied lists the networks in which the server calls no hook, neither by the address that a name resolves to nor
	// through a redirect.
	Denied hookaddress.Denied
	// Redirects are those that are followed; empty is transport.SameHost.
	Redirects transport.Redirects
}

// Options are the settings that all hooks of a controller share.
type Options struct {
	Limits
	// MaxIdleConnections bounds the connections that a hook keeps open between calls.
	MaxIdleConnections int
	// Metrics measures calls; nil measures none.
	Metrics *Metrics
	// MayCall returns an error if hooks must no longer be called, because another process may run the controller now.
	// A nil func allows all calls.
	MayCall func() error
	// Budget bounds the bytes that calls have in memory; nil bounds nothing.
	Budget *Budget
	// Calls keeps the last calls, which HookCalls show; nil keeps none.
	Calls *calllog.Recorder
	// Controller is the owner of the hooks in the labels of metrics.
	Controller ControllerRef
	// Sources reads Secrets and ConfigMaps with credentials.
	Sources transport.Sources
	// Decorates is true for the hooks of a DecoratorController.
	Decorates bool
	// Deletable returns the children that the plan deletes if an answer lists none. Without it, no answer counts as
	// forgotten.
	Deletable func(*pipeline.Snapshot) []*object.Object
	// DeveloperMode logs slow calls and ignored fields, and makes errors quote complete answers.
	DeveloperMode bool
}

// etagCaches returns the count of the ETag caches that share the memory for answers.
func (o *Options) etagCaches() *etagCaches {
	if o.Budget == nil {
		return &etagCaches{}
	}
	return &o.Budget.etags
}

// Webhook is one hook of one parent controller. It has its own connections so that a slow hook does not use up the
// connections of another one. A hook that is written in the controller is a Webhook with a template in place of them.
type Webhook struct {
	name    string
	version v1alpha1.HookVersion
	mode    v1alpha1.ResponseUnmarshallMode
	address address
	// shown is the URL of the address without its secrets.
	shown   string
	timeout time.Duration
	// timeoutError is the error of a call that takes longer than timeout.
	timeoutError error
	// limit is the maximum size of an answer in bytes, and whyLimit says what sets it.
	limit    int64
	whyLimit string
	// inline answers for an inline hook, which has neither a client nor a transport; nil for all others.
	inline    *evaluator
	client    *http.Client
	transport *transport.Transport
	unmeasure func()
	breaker   *circuitBreaker
	// etags is nil unless the hook has an ETag cache.
	etags *etagCache
	spare *spareBuffers
	// mayCall, deletable, calls and developerMode come from the Options.
	mayCall       func() error
	deletable     func(*pipeline.Snapshot) []*object.Object
	calls         *calllog.Recorder
	developerMode bool
	// preview is nil unless the calls are for previews.
	preview *Preview
}

// The names of the hooks of a controller.
const (
	Sync      = "sync"
	Finalize  = "finalize"
	Customize = "customize"
)

const (
	// defaultTimeout is the deadline of a call if webhook.timeout sets no positive one.
	defaultTimeout = 10 * time.Second
	// maxCustomizeBytes limits the answer of a customize hook, whose rules are kept for each parent.
	maxCustomizeBytes = 1 << 20
)

// New returns the webhook of that name. The caller must connect it before its first call, and must close it. Endpoints
// are the endpoint configs of the controller. The error names the invalid field of the spec.
func New(name string, hook *v1alpha1.Hook, endpoints []v1alpha1.EndpointConfig, options Options) (*Webhook, error) {
	if hook.Inline != nil {
		return newInline(name, hook.Inline, options)
	}
	spec := hook.Webhook
	target, err := spec.Address().Parse()
	if err != nil {
		return nil, err
	}
	timeout, err := timeout(spec)
	if err != nil {
		return nil, err
	}
	connections := transport.New(name, spec, target, endpoints, transport.Options{
		MaxIdleConnections: options.MaxIdleConnections, Denied: options.Denied, Sources: options.Sources,
	})
	shown := hookaddress.Redact(target)
	limit, whyLimit := maxResponse(name, options.MaxResponseBytes)
	measured, unmeasure := options.Metrics.measure(connections, name, shown, options.Controller)
	return &Webhook{
		name:         name,
		version:      hook.GetVersion(),
		mode:         protocol.UnmarshalMode(hook),
		address:      addressOf(name, spec, target),
		shown:        shown,
		timeout:      timeout,
		timeoutError: &timeoutError{hook: name, timeout: timeout},
		limit:        limit,
		whyLimit:     whyLimit,
		client:       &http.Client{Transport: measured, CheckRedirect: options.Redirects.Check},
		transport:    connections,
		unmeasure:    unmeasure,
		breaker:      &circuitBreaker{},
		etags:        newETagCache(spec.Etag, options.etagCaches()),
		spare:        &spareBuffers{},

		mayCall:       options.MayCall,
		deletable:     options.Deletable,
		calls:         options.Calls,
		developerMode: options.DeveloperMode,
	}, nil
}

// maxResponse returns how many bytes the answer of a hook may have, and what sets this limit.
func maxResponse(hook string, limit int64) (most int64, why string) {
	if hook == Customize && limit > maxCustomizeBytes {
		return maxCustomizeBytes, "the answer of a customize hook may have"
	}
	return limit, "--hook-max-response-bytes allows"
}

// timeout returns the deadline of a call. It is ten seconds if the spec sets no positive one.
func timeout(spec *v1alpha1.Webhook) (time.Duration, error) {
	if spec.Timeout == nil {
		return defaultTimeout, nil
	}
	timeout, err := spec.Timeout.Parse()
	if err != nil {
		return 0, fmt.Errorf("invalid webhook config: timeout: %w", err)
	}
	if timeout <= 0 {
		return defaultTimeout, nil
	}
	return timeout, nil
}

// Connect reads the certificate authorities and the credentials of the hook. A webhook without any,
// of its own or from an endpoint config, need not be connected. Connect returns a *SourceError if a
// Secret or ConfigMap is unusable.
//
// If a Secret or ConfigMap changes later, the next call uses the new content. If the new content is
// unusable, calls continue with the old one, and stale is called with the reason. It is called with
// nil when the content is usable again.
func (w *Webhook) Connect(ctx context.Context, stale func(error)) error {
	if w.inline != nil {
		return nil
	}
	explain := func(err error) error {
		return fmt.Errorf("can't resolve endpoint config for %s hook: %w", w.name, err)
	}
	err := w.transport.Open(ctx, func(err error) {
		if err != nil {
			err = explain(err)
		}
		stale(err)
	})
	if err != nil {
		return explain(err)
	}
	return nil
}

// Close closes the transport that Connect opened, closes idle connections and ends the hook's metrics.
func (w *Webhook) Close() {
	if w.inline == nil {
		w.transport.Close()
	}
	w.unmeasure()
	w.etags.close()
}

// Forget drops the cached answers for a parent that no longer exists.
func (w *Webhook) Forget(parent types.UID) { w.etags.forget(parent) }

// Name returns Sync, Finalize or Customize.
func (w *Webhook) Name() string { return w.name }

// CircuitOpen returns the error of the last call if the hook counts as down, because several consecutive
// calls failed; otherwise nil.
func (w *Webhook) CircuitOpen() error { return w.breaker.cause() }

// Template returns the template of an inline hook; nil for all others.
func (w *Webhook) Template() *inline.Template {
	if w.inline == nil {
		return nil
	}
	return w.inline.template
}

// SyncComposite asks for the children and the status of the snapshot's parent. It is for sync and
// finalize hooks of CompositeControllers.
func (w *Webhook) SyncComposite(ctx context.Context, snapshot *pipeline.Snapshot) (*pipeline.Response, error) {
	return w.sync(ctx, protocol.Composite(), snapshot)
}

// SyncDecorator asks for the attachments, the status and the changed labels and annotations of the
// snapshot's parent. It is for sync and finalize hooks of DecoratorControllers.
func (w *Webhook) SyncDecorator(ctx context.Context, snapshot *pipeline.Snapshot) (*pipeline.Response, error) {
	return w.sync(ctx, protocol.Decorator(), snapshot)
}

func (w *Webhook) sync(
	ctx context.Context, format protocol.Format, snapshot *pipeline.Snapshot,
) (*pipeline.Response, error) {
	var response *pipeline.Response
	err := w.call(ctx, snapshot, question{
		nothing: `{"` + format.ChildrenField() + `": []}`,
		size:    protocol.RequestSize(snapshot),
		request: func(to []byte) []byte { return format.AppendRequest(to, w.version, snapshot) },
		decode: func(d *protocol.Decoder, answer []byte) (free bool, err error) {
			hash := xxhash.Sum64(answer)
			if response = w.noOpResponse(ctx, snapshot.NoOp, hash); response != nil {
				return true, nil
			}
			if response, err = d.Response(format, answer); err != nil {
				return false, err
			}
			if err := w.checkForgotten(d, response, format.ChildrenField(), snapshot); err != nil {
				return false, err
			}
			response.Hash = hash
			response.Warnings = w.warnings(d, format.ChildrenField(), snapshot)
			return false, nil
		},
	})
	if err != nil {
		return nil, err
	}
	// Only finalize hooks decide this. In the answer of a sync hook, "finalized" means nothing.
	response.Finalized = response.Finalized && snapshot.Finalizing
	response.Strict = w.strict()
	return response, nil
}

// noOpResponse returns the response for an answer with that hash if the answer is known to be a
// no-op, else nil. If strict errors are logged, every answer is read.
func (w *Webhook) noOpResponse(ctx context.Context, noOp *pipeline.NoOp, hash uint64) *pipeline.Response {
	if noOp == nil || noOp.Answer != hash || w.logsStrictErrors(ctx) {
		return nil
	}
	return &pipeline.Response{ResyncAfter: noOp.ResyncAfter, Hash: hash, IsNoOp: true}
}

// Customize asks which related objects the other hooks need for the snapshot's parent. It sends only Controller, Parent
// and Trigger of the snapshot. The warnings are about the answer.
func (w *Webhook) Customize(
	ctx context.Context, snapshot *pipeline.Snapshot,
) (rules []pipeline.RelatedRule, warnings []pipeline.Warning, err error) {
	err = w.call(ctx, snapshot, question{
		nothing: `{"relatedResources": []}`,
		size:    protocol.CustomizeRequestSize(snapshot),
		request: func(to []byte) []byte { return protocol.AppendCustomizeRequest(to, snapshot) },
		decode: func(d *protocol.Decoder, answer []byte) (free bool, err error) {
			rules, err = d.RelatedRules(answer)
			warnings = w.warnings(d, "", nil)
			return false, err
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return rules, warnings, nil
}

// References returns the Secrets and ConfigMaps that the webhook of that name reads when it is
// connected. A webhook whose address is invalid reads none, because New refuses it. An inline hook reads none.
func References(name string, hook *v1alpha1.Hook, endpoints []v1alpha1.EndpointConfig) []transport.Reference {
	if hook.Webhook == nil {
		return nil
	}
	target, err := hook.Webhook.Address().Parse()
	if err != nil {
		return nil
	}
	return transport.References(name, hook.Webhook, target, endpoints)
}
