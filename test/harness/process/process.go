// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a running child. It leads a process group of its own, so that a Ctrl-C in the terminal
// reaches only the parent, which decides about the order of the end. On Linux the kernel kills it
// when the parent dies, however that happens.
type Process struct {
	name    string
	logPath string
	cmd     *exec.Cmd
	done    chan struct{}
	err     error // valid once done is closed
}

// Start runs cmd. Its output is appended to the file logPath, or goes to our own standard error if
// that is empty. The name is for messages.
func Start(name, logPath string, cmd *exec.Cmd) (*Process, error) {
	log := os.Stderr
	if logPath != "" {
		var err error
		if log, err = os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, fmt.Errorf("open the log of %s: %w", name, err)
		}
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = sysProcAttr()

	p := &Process{name: name, logPath: logPath, cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The parent death signal is bound to the thread that starts the child: it has to live as
		// long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		if log != os.Stderr {
			defer log.Close()
		}

		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// Done is closed once the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// LogPath names the file with the output of the process, if it has one.
func (p *Process) LogPath() string { return p.logPath }

// Exited returns nil while the process runs; afterwards an error that says how it ended and shows
// its last lines.
func (p *Process) Exited() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	ending := "exit status 0"
	if p.err != nil {
		ending = p.err.Error()
	}
	if p.logPath == "" {
		return fmt.Errorf("%s has ended: %s", p.name, ending)
	}
	return fmt.Errorf("%s has ended: %s; the end of its log %s:\n%s", p.name, ending, p.logPath, Tail(p.logPath, 20))
}

// Stop asks the process to end (SIGTERM), waits for it and returns how it ended; nil is exit status
// 0. A process that is still there after the grace period is killed, and that is an error.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.err
	case <-timer.C:
		return errors.Join(fmt.Errorf("%s did not end within %s of SIGTERM and was killed", p.name, grace), p.Kill())
	}
}

// Kill ends the process and its group at once (SIGKILL) and waits until it is gone.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

func (p *Process) signal(sig syscall.Signal) error {
	select {
	case <-p.done: // another process may have its id now
		return nil
	default:
	}
	err := syscall.Kill(-p.PID(), sig)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to %s (pid %d): %w", sig, p.name, p.PID(), err)
	}
	return nil
}

// Tail returns the last lines of a text file, or the reason why it cannot.
func Tail(path string, lines int) string {
	const window = 64 << 10
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > window {
		if _, err := f.Seek(-window, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
