// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command hostcluster runs a host cluster in the foreground, for the demo and for work by hand. It
// prints the line that points kubectl to it, runs until SIGINT or SIGTERM, and leaves nothing
// behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostcluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "hostcluster-")
	if err != nil {
		return fmt.Errorf("make a folder for the cluster: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	begin := time.Now()
	cluster, err := hostcluster.Start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()

	fmt.Fprintf(os.Stderr, "The host cluster is ready after %s. Logs and the audit log are in %s. Ctrl-C ends it.\n",
		time.Since(begin).Round(100*time.Millisecond), dir)
	fmt.Printf("export KUBECONFIG=%s PATH=%s:$PATH\n", cluster.AdminKubeconfig(), filepath.Dir(cluster.Kubectl()))

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
