// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command hostcluster runs a host cluster in the foreground, for the demo and for work by hand. It
// prints the line that points kubectl to it, runs until SIGINT or SIGTERM, and leaves nothing
// behind. With -node, Deployments and the like make Pods, and a node reports these as running.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/node"
)

func main() {
	withNode := flag.Bool("node", false, "run Pods, as far as a node can that runs no containers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *withNode)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostcluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, withNode bool) (err error) {
	dir, err := os.MkdirTemp("", "hostcluster-")
	if err != nil {
		return fmt.Errorf("make a folder for the cluster: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	begin := time.Now()
	var controllers []string
	if withNode {
		controllers = hostcluster.Workloads()
	}
	cluster, err := hostcluster.Start(ctx, dir, controllers...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	if withNode {
		running, startErr := startNode(ctx, cluster)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, running.Stop()) }()
	}

	fmt.Fprintf(os.Stderr, "The host cluster is ready after %s. Logs and the audit log are in %s. Ctrl-C ends it.\n",
		time.Since(begin).Round(100*time.Millisecond), dir)
	own, err := os.Executable() // the plugin of kubectl is beside it
	if err != nil {
		return err
	}
	fmt.Printf("export KUBECONFIG=%s PATH=%s:%s:$PATH\n", cluster.AdminKubeconfig(), filepath.Dir(own), filepath.Dir(cluster.Kubectl()))

	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := cluster.Exited(); err != nil {
				return err
			}
		}
	}
}

func startNode(ctx context.Context, cluster *hostcluster.Cluster) (*node.Node, error) {
	config, err := cluster.AdminConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return node.Start(ctx, client)
}
