// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// other is a program that does our work in its own way.
type other struct {
	program string
	process *process.Process
}

func (o *other) name() string { return o.program }

func (o *other) isOurs() bool { return false }

func (o *other) callsHook() bool { return o.program == floorName }

func (o *other) start(_ context.Context, w *world) error {
	kubeconfig, err := w.env.Host.WriteKubeconfig(o.program, "system:serviceaccount:"+site.Namespace+":"+o.program,
		"system:serviceaccounts", "system:authenticated", contestants)
	if err != nil {
		return err
	}
	options := controller.DefaultOptions()
	args := []string{"--kubeconfig=" + kubeconfig, "--workers=" + strconv.Itoa(options.Workers)}
	if o.callsHook() {
		args = append(args, "--hook="+w.hook.url(), "--parallel-writes="+strconv.Itoa(options.ParallelWrites),
			"--parallel-writes-per-sync="+strconv.Itoa(options.ParallelWritesPerSync))
	}
	o.process, err = process.Start(o.program, w.log(o.program), exec.Command(filepath.Join(w.dir, o.program), args...))
	return err
}

func (o *other) stop(context.Context) error {
	if err := o.process.Exited(); err != nil {
		return err
	}
	return o.process.Stop(30 * time.Second)
}

func (o *other) pid() int { return o.process.PID() }

func (o *other) exited() error { return o.process.Exited() }

func (o *other) done() <-chan struct{} { return o.process.Done() }
