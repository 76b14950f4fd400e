// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package localhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// Program is the running program of a hook.
type Program struct {
	*Hook
	command *exec.Cmd
	output  *tail
	// ended is closed when the program has ended.
	ended chan struct{}
}

const (
	// startTimeout is how long a program may take until it listens. It may be compiled first.
	startTimeout = 2 * time.Minute
	// stopTimeout is how long it may take to end.
	stopTimeout = 3 * time.Second
	// lookInterval is how often it is tried whether it listens.
	lookInterval = 20 * time.Millisecond
)

// Start runs a command in a folder by the shell, and waits until it listens on a port that is free. The port is in the
// environment as PORT. The caller must call Stop.
func Start(ctx context.Context, command, folder string) (*Program, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &Program{command: shell(command), output: &tail{}, ended: make(chan struct{})}
	if p.Hook, err = At(net.JoinHostPort("localhost", port)); err != nil {
		return nil, err
	}
	p.command.Dir, p.command.Env = folder, append(os.Environ(), "PORT="+port)
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.WaitDelay = stopTimeout
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start the hook: %w", err)
	}
	go func() {
		_ = p.command.Wait() // how it ended is in its output
		close(p.ended)
	}()
	if err := p.waitFor(ctx, port); err != nil {
		p.Stop()
		return nil, fmt.Errorf("start the hook by %q: %w%s", command, err, p.said())
	}
	return p, nil
}

// freePort returns a port that nothing listens on.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return strconv.Itoa(port), listener.Close()
}

// waitFor waits until the program listens on the port.
func (p *Program) waitFor(ctx context.Context, port string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("nothing listens on port %s, which is $PORT, after %s", port, startTimeout))
	defer cancel()
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	var dialer net.Dialer
	for {
		if connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("localhost", port)); err == nil {
			return connection.Close()
		}
		select {
		case <-p.ended:
			return errors.New("it has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// Stop ends the program and the ones that it has started, and waits until it has ended.
func (p *Program) Stop() {
	terminate(p.command)
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	}
	kill(p.command)
	<-p.ended
}

// Output returns the end of what the program has printed.
func (p *Program) Output() string { return p.output.String() }

// said returns the output as a part of an error.
func (p *Program) said() string {
	if output := p.Output(); output != "" {
		return "; it printed:\n" + output
	}
	return ""
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// maxTail is how much is kept, in bytes.
const maxTail = 16 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if more := len(t.kept) - maxTail; more > 0 {
		t.kept = t.kept[more:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}
