// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command floor does what cannot be done without: it watches sites and pages, calls the hook about each site that
// changes, writes every page that the hook answers for a new spec, changed or not, and the status. When it sees what it
// has written, it calls the hook once more, as anybody must who lets hooks see their children. It retries nothing.
package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// settings are the flags.
type settings struct {
	kubeconfig, hook        string
	workers, writersPerSync int
	writers                 int
}

func main() {
	var s settings
	pflag.StringVar(&s.kubeconfig, "kubeconfig", "", "How to reach the cluster.")
	pflag.StringVar(&s.hook, "hook", "", "URL of the hook.")
	pflag.IntVar(&s.workers, "workers", 0, "How many hook calls are under way at once.")
	pflag.IntVar(&s.writersPerSync, "parallel-writes-per-sync", 0, "How many pages of one site are written at once.")
	pflag.IntVar(&s.writers, "parallel-writes", 0, "How many pages are written at once.")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		klog.Background().Error(err, "The bare client has failed")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
}

func run(ctx context.Context, s settings) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return newFloor(clientset.CoreV1().RESTClient(), s).run(ctx)
}
