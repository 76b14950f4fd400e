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
	"time"
)

// Program is the running program of a hook.
type Program struct {
	*Hook
	command *exec.Cmd
	// output is a file: what the program prints before it answers can be read when the answer is there. A pipe would have
	// to be copied first. read is the offset up to which Output has returned it.
	output *os.File
	read   int64
	// ended is closed when the program has ended.
	ended chan struct{}
}

const (
	// startTimeout bounds the time until a program listens. It may be compiled first.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds the time until it exits.
	stopTimeout = 3 * time.Second
	// pollInterval is the interval at which Start tries to connect.
	pollInterval = 20 * time.Millisecond
	// maxOutput bounds the bytes of output that are returned at once.
	maxOutput = 16 << 10
)

// Start runs a command in a folder by the shell, and waits until it listens on a port that is free. The port is in the
// environment as PORT. The caller must call Stop.
func Start(ctx context.Context, command, folder string) (*Program, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &Program{command: shell(command), ended: make(chan struct{})}
	if p.Hook, err = At(net.JoinHostPort("localhost", port)); err != nil {
		return nil, err
	}
	if p.output, err = outputFile(); err != nil {
		return nil, fmt.Errorf("store the output of the hook: %w", err)
	}
	// Python buffers what it prints into a file.
	p.command.Dir, p.command.Env = folder, append(os.Environ(), "PORT="+port, "PYTHONUNBUFFERED=1")
	p.command.Stdout, p.command.Stderr = p.output, p.output
	if err := p.command.Start(); err != nil {
		p.removeOutput()
		return nil, fmt.Errorf("start the hook: %w", err)
	}
	go func() {
		_ = p.command.Wait() // how it ended is in its output
		close(p.ended)
	}()
	if err := p.waitFor(ctx, port); err != nil {
		defer p.Stop()
		return nil, fmt.Errorf("start the hook with %q: %w%s", command, err, p.said())
	}
	return p, nil
}

// outputFile returns a new file to which all writers append, as they do to a terminal.
func outputFile() (*os.File, error) {
	created, err := os.CreateTemp("", "hook-*.log")
	if err != nil {
		return nil, err
	}
	defer created.Close()
	return os.OpenFile(created.Name(), os.O_RDWR|os.O_APPEND, 0o600)
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
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout,
		fmt.Errorf("the program does not listen on port %s ($PORT) after %s", port, startTimeout))
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var dialer net.Dialer
	for {
		if connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("localhost", port)); err == nil {
			return connection.Close()
		}
		select {
		case <-p.ended:
			return errors.New("the program has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// Stop terminates the program and its child processes, and waits until it has ended.
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
	p.removeOutput()
}

func (p *Program) removeOutput() {
	_ = p.output.Close()
	_ = os.Remove(p.output.Name())
}

// Output returns the text that the program has printed since the last call of Output, or the end of a long text.
func (p *Program) Output() string {
	info, err := p.output.Stat()
	if err != nil {
		return ""
	}
	if info.Size() < p.read {
		p.read = 0 // a program that opens /dev/stderr for writing empties the file
	}
	from := max(p.read, info.Size()-maxOutput)
	p.read = info.Size()
	text := make([]byte, info.Size()-from)
	read, _ := p.output.ReadAt(text, from)
	return string(bytes.TrimSpace(text[:read]))
}

// said returns the output as a part of an error.
func (p *Program) said() string {
	if output := p.Output(); output != "" {
		return "; it printed:\n" + output
	}
	return ""
}
