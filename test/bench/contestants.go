// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// contestants is the group of users that the other two are in.
const contestants = "contestants"

// contestant gives sites their pages while it runs.
type contestant interface {
	name() string
	start(ctx context.Context, w *world) error
	stop(ctx context.Context) error
	pid() int
	exited() error // how it ended, nil while it runs
	done() <-chan struct{}
}

// whileRunning is a context that ends with a contestant.
func whileRunning(ctx context.Context, of contestant) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-of.done():
			cancel(of.exited())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// ours is a CompositeController. The server runs all the time.
type ours struct {
	world *world
	// resync is how often, in seconds, all sites are synced.
	resync int32
}

func (o *ours) name() string { return "ours" }

func (o *ours) start(ctx context.Context, w *world) error {
	o.world = w
	_, err := w.env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Create(ctx, o.controller("bench", w.hook.url()), metav1.CreateOptions{})
	return err
}

func (o *ours) controller(name, url string) *v1alpha1.CompositeController {
	composite := &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.CompositeControllerSpec{
			ParentResource:   v1alpha1.CompositeControllerParentResourceRule{ResourceRule: v1alpha1.ResourceRule{APIVersion: site.GroupVersion.String(), Resource: site.Resource}},
			GenerateSelector: ptr.To(true),
			ChildResources: []v1alpha1.CompositeControllerChildResourceRule{{
				ResourceRule:   v1alpha1.ResourceRule{APIVersion: "v1", Resource: "configmaps"},
				UpdateStrategy: &v1alpha1.CompositeControllerChildUpdateStrategy{Method: v1alpha1.ChildUpdateInPlace},
			}},
			Hooks: &v1alpha1.CompositeControllerHooks{Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(url)}}},
		},
	}
	if o.resync > 0 {
		composite.Spec.ResyncPeriodSeconds = ptr.To(o.resync)
	}
	return composite
}

func (o *ours) stop(ctx context.Context) error {
	controllers := o.world.env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	if err := controllers.Delete(ctx, "bench", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return poll.Within(ctx, patience, func(ctx context.Context) error {
		_, err := controllers.Get(ctx, "bench", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the CompositeController is still there (%w)", err)
	})
}

func (o *ours) pid() int { return o.world.env.Server.PID() }

func (o *ours) exited() error { return o.world.env.Server.Exited() }

func (o *ours) done() <-chan struct{} { return o.world.env.Server.Done() }

// other is a program that does our work in its own way.
type other struct {
	program string
	process *process.Process
}

func (o *other) name() string { return o.program }

func (o *other) start(_ context.Context, w *world) error {
	kubeconfig, err := w.env.Host.WriteKubeconfig(o.program, "system:serviceaccount:"+site.Namespace+":"+o.program,
		"system:serviceaccounts", "system:authenticated", contestants)
	if err != nil {
		return err
	}
	options := controller.DefaultOptions()
	args := []string{"--kubeconfig=" + kubeconfig, "--workers=" + strconv.Itoa(options.Workers)}
	if o.program == "floor" {
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

// measuredCPU is how much CPU a contestant has used while something was done.
func measuredCPU(of contestant, do func() error) (time.Duration, error) {
	before, err := process.UsageOf(of.pid())
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := process.UsageOf(of.pid())
	return after.CPU - before.CPU, err
}
