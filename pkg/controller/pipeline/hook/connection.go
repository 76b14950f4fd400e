// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// connection is how a hook is reached: the authorities it is verified with and the
// credentials it is shown. They follow the Secrets and ConfigMaps they are read from: a
// call uses what is there when it begins. What is no use leaves the last that was in use.
//
// It is the transport of the hook's client.
type connection struct {
	settings settings
	options  Options
	// stops end the following of the sources.
	stops []func()

	mu      sync.Mutex
	sources map[Source]*object.Object
	// credentials is what the settings come to and line is what calls go over; both are nil
	// until the settings have been read.
	credentials *credentials
	shared      *sharedTransport
	// report is called when the sources become of no use or good again; told is the
	// message of the error that it was called with last.
	report   func(error)
	reported string
}

// newConnection makes a connection, which must be closed. Unless the settings are empty it
// must be opened before it is used.
func newConnection(settings settings, options Options) *connection {
	c := &connection{settings: settings, options: options, sources: map[Source]*object.Object{}}
	if settings.empty() {
		c.use(&credentials{})
	}
	return c
}

// open reads the settings and begins to follow what they are read from. Afterwards it has
// tell called with an error when that becomes of no use, and with nil when it is good
// again. It returns a *SourceError if a source is of no use already.
func (c *connection) open(ctx context.Context, tell func(error)) error {
	if c.settings.empty() {
		return nil
	}
	_, err := c.settings.resolve(func(source Source) (*object.Object, error) { return c.follow(ctx, source) })
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report = tell
	return c.renew()
}

// follow keeps a source up to date from now on and returns it as it is.
func (c *connection) follow(ctx context.Context, source Source) (*object.Object, error) {
	if found, err := c.known(source); err == nil {
		return found, nil
	}
	stop, err := c.options.Sources.Follow(ctx, source.Type, source.Name, func(now *object.Object) { c.changed(source, now) })
	if err != nil {
		return nil, err
	}
	c.stops = append(c.stops, stop)
	return c.known(source)
}

func (c *connection) known(source Source) (*object.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last(source)
}

// last returns a source as it was told of last.
func (c *connection) last(source Source) (*object.Object, error) {
	found, followed := c.sources[source]
	if !followed {
		return nil, errors.New("it is not followed")
	}
	return found, nil
}

// changed takes over what a source is like now.
func (c *connection) changed(source Source, now *object.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sources[source] = now
	if c.shared == nil {
		return // it is being opened
	}
	err, message := c.renew(), ""
	if err != nil {
		message = err.Error()
	}
	if message != c.reported {
		c.reported = message
		c.report(err)
	}
}

// renew has calls use what the sources are like now.
func (c *connection) renew() error {
	next, err := c.settings.resolve(c.last)
	if err != nil {
		return err
	}
	c.use(next)
	return nil
}

// use has calls use the material from now on. Calls under way end as they began.
func (c *connection) use(next *credentials) {
	c.credentials = next
	old := c.shared
	if old != nil && old.sameTLS(next) {
		return
	}
	c.shared = &sharedTransport{credentials: next, transport: next.transport(c.options.MaxIdleConnections, c.options.Denied)}
	if old != nil {
		old.retired = true
		old.transport.CloseIdleConnections()
	}
}

// authorize puts the credential into a request; a redirect to another host takes it out
// again. It returns what takes it out of texts.
func (c *connection) authorize(request *http.Request) (hide func([]byte) []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.credentials == nil {
		return (&credentials{}).hide
	}
	if c.credentials.authorization != "" {
		request.Header.Set("Authorization", c.credentials.authorization)
	}
	return c.credentials.hide
}

// close stops following the sources and closes the connections that are not in use.
func (c *connection) close() {
	for _, stop := range c.stops {
		stop()
	}
	c.stops = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared != nil {
		c.shared.transport.CloseIdleConnections()
	}
}
