// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
)

// Gate holds watches back while it is closed. A new gate is open.
type Gate struct {
	concerns func(Request) bool

	mu sync.Mutex
	// opened is closed while the gate is open.
	opened chan struct{}
	// skipped is closed, and replaced, when the watches have to begin anew.
	skipped chan struct{}
	// ended and broken are the same for watches that end, and whose connections break.
	ended, broken chan struct{}
}

// NewGate returns an open gate for the watches that concern it.
func NewGate(concerns func(Request) bool) *Gate {
	g := &Gate{concerns: concerns, opened: make(chan struct{}), skipped: make(chan struct{}), ended: make(chan struct{}), broken: make(chan struct{})}
	close(g.opened)
	return g
}

// Close holds back what happens from now on.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if isClosed(g.opened) {
		g.opened = make(chan struct{})
	}
}

// Open shows what happened meanwhile.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !isClosed(g.opened) {
		close(g.opened)
	}
}

// Skip opens the gate, but the watches are told that they are too old (410). They list anew, and
// never see the states in between.
func (g *Gate) Skip() {
	g.mu.Lock()
	close(g.skipped)
	g.skipped = make(chan struct{})
	g.mu.Unlock()
	g.Open()
}

// End ends the watches, as the host does from time to time.
func (g *Gate) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.ended)
	g.ended = make(chan struct{})
}

// Break breaks the connections of the watches in the middle of an event.
func (g *Gate) Break() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.broken)
	g.broken = make(chan struct{})
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// tooOld is the last event of a watch whose resource version is too old.
const tooOld = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// stream passes the events of a watch on, one line each. Watches that are not sent as JSON lines
// concern no gate.
func (x *Exchange) stream() {
	ctx, cancel := context.WithCancelCause(x.r.Context())
	defer cancel(nil)
	defer context.AfterFunc(x.proxy.alive, func() { cancel(errEnded) })()
	var gates []passage
	for _, gate := range x.proxy.script.Gates {
		if gate.concerns(x.Request) {
			gates = append(gates, gate.follow(ctx, cancel))
		}
	}
	response, err := x.send(ctx)
	if err != nil {
		abort()
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		x.w.Header()[name] = values
	}
	x.w.WriteHeader(response.StatusCode)
	flush := http.NewResponseController(x.w).Flush
	_ = flush()
	lines := bufio.NewReaderSize(response.Body, 1<<16)
	for {
		line, err := x.next(lines, len(gates) > 0)
		cause := context.Cause(ctx)
		for _, gate := range gates {
			cause = cmp.Or(gate.wait(ctx), cause)
		}
		switch {
		case x.proxy.alive.Err() != nil:
			abort()
		case errors.Is(cause, errSkipped):
			_, _ = x.w.Write([]byte(tooOld))
			return
		case errors.Is(cause, errBroken):
			_, _ = x.w.Write([]byte(tooOld[:len(tooOld)/2]))
			_ = flush()
			abort()
		case cause != nil:
			return
		}
		if _, err := x.w.Write(line); err != nil {
			return
		}
		_ = flush()
		if err != nil {
			return
		}
	}
}

// next reads an event, or what there is of a stream that no gate concerns.
func (x *Exchange) next(from *bufio.Reader, byLine bool) ([]byte, error) {
	if byLine {
		return from.ReadBytes('\n')
	}
	if _, err := from.Peek(1); err != nil {
		return nil, err
	}
	some := make([]byte, from.Buffered())
	_, err := from.Read(some)
	return some, err
}

// How a watch ends.
var (
	errEnded   = errors.New("the watch ends")
	errSkipped = errors.New("the watch is too old")
	errBroken  = errors.New("the connection breaks")
)

// passage is one watch at one gate.
type passage struct {
	gate                   *Gate
	skipped, ended, broken chan struct{}
}

// follow ends a watch when the gate says so.
func (g *Gate) follow(ctx context.Context, cancel context.CancelCauseFunc) passage {
	g.mu.Lock()
	p := passage{gate: g, skipped: g.skipped, ended: g.ended, broken: g.broken}
	g.mu.Unlock()
	go func() {
		select {
		case <-p.skipped:
		case <-p.ended:
		case <-p.broken:
		case <-ctx.Done():
		}
		cancel(p.end())
	}()
	return p
}

// end returns how the gate has ended the watch, nil if it has not.
func (p passage) end() error {
	switch {
	case isClosed(p.skipped):
		return errSkipped
	case isClosed(p.ended):
		return errEnded
	case isClosed(p.broken):
		return errBroken
	}
	return nil
}

// wait returns when the gate is open or the watch has ended.
func (p passage) wait(ctx context.Context) error {
	p.gate.mu.Lock()
	opened := p.gate.opened
	p.gate.mu.Unlock()
	select {
	case <-opened:
	case <-ctx.Done():
	}
	return cmp.Or(p.end(), context.Cause(ctx))
}
