// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/calllog"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/transport"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// Options are what all hooks of a controller have in common.
type Options struct {
	// MaxResponseBytes limits the size of an answer after decompression.
	MaxResponseBytes int64
	// MaxIdleConnections is how many connections a hook keeps open between calls.
	MaxIdleConnections int
	// Denied are the networks in which no hook is called, whatever its name is resolved to or a
	// redirect points at.
	Denied hookaddress.Denied
	// Redirects are those that are followed; empty is transport.SameHost.
	Redirects transport.Redirects
	// Metrics measures calls; nil measures none.
	Metrics *Metrics
	// MayCall returns an error if no hook must be called any more, because another process may run the
	// controller now; nil if that cannot be.
	MayCall func() error
	// Budget bounds the bytes that calls have in memory; nil bounds nothing.
	Budget *Budget
	// Calls keeps the last calls, which HookCalls show; nil keeps none.
	Calls *calllog.Recorder
	// Controller is the owner of the hooks in the labels of metrics.
	Controller ControllerRef
	// Sources is where Secrets and ConfigMaps with credentials are read from.
	Sources transport.Sources
	// DeveloperMode logs calls that are slow and fields that are ignored, and has errors quote whole
	// answers.
	DeveloperMode bool
}

// etagCaches returns what counts the ETag caches.
func (o *Options) etagCaches() *etagCaches {
	if o.Budget == nil {
		return &etagCaches{}
	}
	return &o.Budget.etags
}

// Webhook is one hook of one hosted controller. It has its own connections, so that a slow hook
// takes none from another.
type Webhook struct {
	name     string
	version  v1alpha1.HookVersion
	mode     v1alpha1.ResponseUnmarshallMode
	endpoint *url.URL
	// shown is the endpoint without its secrets.
	shown string
	// addressField is the field of the spec that has the endpoint, and schemeField the one that has
	// its scheme.
	addressField, schemeField string
	timeout                   time.Duration
	// timeoutError is the error of a call that takes longer than timeout.
	timeoutError error
	// limit is the maximal size of an answer in bytes, and whyLimit is what says so.
	limit     int64
	whyLimit  string
	client    *http.Client
	transport *transport.Transport
	unmeasure func()
	breaker   *circuitBreaker
	// etags is nil unless the hook has an ETag cache.
	etags *etagCache
	spare *spareBuffers
	// mayCall, calls and developerMode are those of the Options.
	mayCall       func() error
	calls         *calllog.Recorder
	developerMode bool
	// preview is nil unless the calls are for previews.
	preview *Preview
}

// spareBuffers are what calls leave to later ones of the same hook.
type spareBuffers struct {
	requests bufferPool
	// answers has the buffers of answers that are no longer used.
	answers sync.Pool
	// lastSize is the size of the last answer in bytes.
	lastSize atomic.Int64
}

// The names of the hooks of a controller.
const (
	Sync      = "sync"
	Finalize  = "finalize"
	Customize = "customize"
)

// New returns the webhook of that name. It must be connected before its first call, and it must be
// closed. Endpoints are the endpoint configs of the controller. The error says what is invalid in
// the spec.
func New(name string, hook *v1alpha1.Hook, endpoints []v1alpha1.EndpointConfig, options Options) (*Webhook, error) {
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
		endpoint:     target,
		shown:        shown,
		addressField: addressField(name, spec),
		schemeField:  schemeField(name, spec),
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
		calls:         options.Calls,
		developerMode: options.DeveloperMode,
	}, nil
}

// Connect reads the certificate authorities and the credentials of the hook. A webhook without any,
// of its own or from an endpoint config, need not be connected. Connect returns a *SourceError if a
// Secret or ConfigMap is unusable.
//
// If a Secret or ConfigMap changes later, the next call uses the new content. If the new content is
// unusable, calls continue with the old one, and stale is called with the reason. It is called with
// nil when the content is usable again.
func (w *Webhook) Connect(ctx context.Context, stale func(error)) error {
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

// Close stops what Connect began, closes idle connections and ends the hook's metrics.
func (w *Webhook) Close() {
	w.transport.Close()
	w.unmeasure()
	w.etags.close()
}

// Forget drops what is cached for a parent that is gone.
func (w *Webhook) Forget(parent types.UID) { w.etags.forget(parent) }

// Name returns Sync, Finalize or Customize.
func (w *Webhook) Name() string { return w.name }

// CircuitOpen returns why the hook counts as down: its last calls failed, several in a row. It
// returns nil if the hook does not count as down.
func (w *Webhook) CircuitOpen() error { return w.breaker.cause() }

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

func (w *Webhook) sync(ctx context.Context, format protocol.Format, snapshot *pipeline.Snapshot) (*pipeline.Response, error) {
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
	// Only a finalize hook decides it. In the answer of a sync hook, "finalized" means nothing.
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

// Customize asks which related objects the other hooks are shown for the snapshot's parent. It
// sends only Controller, Parent and Trigger of the snapshot. The warnings are about the answer.
func (w *Webhook) Customize(ctx context.Context, snapshot *pipeline.Snapshot) (rules []pipeline.RelatedRule, warnings []pipeline.Warning, err error) {
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
