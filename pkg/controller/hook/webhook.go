// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hook asks users' webhooks what a parent's children and status shall be.
// The protocol between the two is known here and nowhere else.
package hook

import (
	"cmp"
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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// Options are what hooks are called with.
type Options struct {
	// MaxResponseBytes is the size, decompressed, above which an answer is refused.
	MaxResponseBytes int64
	// MaxIdleConnections is how many connections a hook keeps open between calls.
	MaxIdleConnections int
	// Denied are the networks that a hook is not called in, wherever its name or a redirect leads.
	Denied hookaddress.Denied
	// Metrics measures calls; nil measures none.
	Metrics *Metrics
	// Controller is whose hooks they are, as metrics name it.
	Controller Controller
	// Sources is where credentials are read from.
	Sources Sources
}

// Webhook is one hook of one hosted controller. It has connections of its own, so
// that a slow hook takes none from another.
type Webhook struct {
	name     string
	version  v1alpha1.HookVersion
	mode     v1alpha1.ResponseUnmarshallMode
	endpoint *url.URL
	// shown is the endpoint as it may be told.
	shown   string
	timeout time.Duration
	// late is the error of a call that takes longer.
	late   error
	limit  int64
	client *http.Client
	// connection is what the client calls over.
	connection *connection
	unmeasure  func()
	outage     outage
	// answers is nil unless the hook has an ETag cache.
	answers *answers
	buffers buffers
	// answered is the size of the last answer in bytes, and spare the room of answers that nobody keeps.
	answered atomic.Int64
	spare    sync.Pool
}

// Names of the hooks of a controller.
const (
	Sync      = "sync"
	Finalize  = "finalize"
	Customize = "customize"
)

// New makes the webhook of that name, which must be closed. Endpoints are the settings
// of connections for hosts of hooks that set none themselves. The error says what in the
// spec cannot work. Before its first call the webhook has to be connected.
func New(name string, hook *v1alpha1.Hook, endpoints []v1alpha1.EndpointConfig, options Options) (*Webhook, error) {
	spec := hook.Webhook
	target, err := endpoint(spec)
	if err != nil {
		return nil, err
	}
	timeout, err := timeout(spec)
	if err != nil {
		return nil, err
	}
	connection := newConnection(settingsOf(name, spec, target, endpoints), options)
	shown := hookaddress.Redact(target)
	measured, unmeasure := options.Metrics.measure(connection, name, shown, options.Controller)
	return &Webhook{
		name:       name,
		version:    hook.GetVersion(),
		mode:       unmarshalMode(hook),
		endpoint:   target,
		shown:      shown,
		timeout:    timeout,
		late:       fmt.Errorf("no complete answer within %s, the hook's timeout", timeout),
		limit:      options.MaxResponseBytes,
		client:     &http.Client{Transport: measured},
		connection: connection,
		unmeasure:  unmeasure,
		answers:    newAnswers(spec.Etag),
	}, nil
}

// Close closes the connections that are not in use, and ends what Connect began and the
// hook's metrics.
func (w *Webhook) Close() {
	w.connection.close()
	w.unmeasure()
}

// Forget drops what is remembered of a parent that is gone.
func (w *Webhook) Forget(parent types.UID) { w.answers.forget(parent) }

// SyncComposite asks for the children and the status of the snapshot's parent. It is for
// sync and finalize hooks, whichever the snapshot is for.
func (w *Webhook) SyncComposite(ctx context.Context, snapshot *stage.Snapshot) (*stage.Response, error) {
	return w.sync(ctx, compositeProtocol(), snapshot)
}

// SyncDecorator is SyncComposite for a DecoratorController: it also asks which labels and
// annotations of the parent, its target, change.
func (w *Webhook) SyncDecorator(ctx context.Context, snapshot *stage.Snapshot) (*stage.Response, error) {
	return w.sync(ctx, decoratorProtocol(), snapshot)
}

func (w *Webhook) sync(ctx context.Context, p protocol, snapshot *stage.Snapshot) (*stage.Response, error) {
	var response *stage.Response
	request := func(to []byte) []byte { return p.request(to, w.version, snapshot) }
	err := w.ask(ctx, snapshot, request, involvesSecrets(snapshot), func(r *reader, answer []byte) (err error) {
		hash := xxhash.Sum64(answer)
		if response = resting(ctx, snapshot.Rest, hash); response != nil {
			r.unread = true
			return nil
		}
		if response, err = r.response(p, answer); err == nil {
			response.Hash = hash
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	// A sync hook may say it too, but then nobody asked: the parent is there to stay.
	response.Finalized = response.Finalized && snapshot.Finalizing
	response.Strict = w.strict()
	return response, nil
}

// ask calls the hook about a parent, with the request that is appended, and has its answer read. Errors say which hook they
// are about; a *Down says that there was no call. Secret tells that Secrets are
// concerned, so that nothing of what is said is shown to others.
func (w *Webhook) ask(ctx context.Context, snapshot *stage.Snapshot, request func(to []byte) []byte, secret bool, read func(*reader, []byte) error) (err error) {
	parent := cmp.Or(snapshot.Present, snapshot.Parent)
	if err := w.outage.admit(parent, time.Now()); err != nil {
		return w.explain(err)
	}
	defer func() { w.outage.done(parent, err, time.Now()) }()
	posted := w.buffers.get()
	defer posted.release()
	posted.bytes = request(posted.bytes)
	w.log(ctx, "Hook request", posted.bytes, secret)
	kept := w.answersAbout(snapshot)
	known := kept.get(parent.UID, time.Now())
	reply, err := w.call(ctx, posted, known.etag, secret)
	if err != nil {
		return w.explain(err)
	}
	answer := known.body
	if !reply.unchanged {
		answer = reply.body.Bytes()
	}
	r := &reader{secret: secret || mentionsSecrets(answer), closely: w.looksClosely(ctx)}
	if err := read(r, answer); err != nil {
		return w.explain(err)
	}
	if err := w.judge(ctx, r.odd); err != nil {
		return w.explain(err)
	}
	if reply.etag != "" {
		kept.put(parent.UID, reply.etag, answer, time.Now())
	}
	w.log(ctx, "Hook answer", answer, r.secret)
	if r.unread {
		w.spend(reply.body)
	}
	return nil
}

// Name is one of the constants Sync, Finalize and Customize.
func (w *Webhook) Name() string { return w.name }

// Down tells why the hook counts as down: its last calls, several in a row, were not
// answered. It is nil if it does not.
func (w *Webhook) Down() error { return w.outage.down() }

// answersAbout is the ETag cache for answers about a parent. An earlier version of one has
// its UID and its generation, from which a hook may have made its ETag: there is none for it.
func (w *Webhook) answersAbout(snapshot *stage.Snapshot) *answers {
	if snapshot.Present != nil {
		return nil
	}
	return w.answers
}

// explain adds which hook an error is about.
func (w *Webhook) explain(err error) error {
	return fmt.Errorf("%s hook failed: %s: %w", w.name, w.shown, err)
}
