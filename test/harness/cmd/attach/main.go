// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command attach runs metacontroller-apiserver on this machine and joins it to the cluster of
// $KUBECONFIG from outside, in the foreground until SIGINT or SIGTERM. It is what `make run` and
// `make run-clean` call.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
)

const usage = `usage:
  attach run -server BINARY -data-dir DIR -port PORT [-external-name NAME] [-- SERVER FLAGS...]
  attach clean [-data-dir DIR] [-force]`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "attach:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case "run":
		return run(ctx, args[1:], out)
	case "clean":
		return clean(ctx, args[1:], out)
	default:
		return fmt.Errorf("unknown command %q\n%s", args[0], usage)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("attach run", flag.ContinueOnError)
	binary := flags.String("server", "", "path of the metacontroller-apiserver binary")
	dataDir := flags.String("data-dir", "", "folder for its storage and its certificate")
	port := flags.Int("port", 0, "port to serve on; 0: a free one")
	externalName := flags.String("external-name", "", "name or IPv4 address under which the cluster's kube-apiserver reaches "+
		"this machine; empty: localhost if that is where it runs, else the address from which we reach it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	absoluteDataDir, err := filepath.Abs(*dataDir)
	if err != nil {
		return err
	}
	cluster, rawConfig, err := currentCluster()
	if err != nil {
		return err
	}
	if err := checkFree(ctx, cluster, absoluteDataDir); err != nil {
		return err
	}
	place, err := addressFor(cluster, *externalName)
	if err != nil {
		return err
	}
	if err := checkPort(place.bindAddress, *port); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "attach-")
	if err != nil {
		return fmt.Errorf("make a folder for the server's kubeconfig: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	kubeconfig, err := writeKubeconfig(rawConfig, scratch)
	if err != nil {
		return err
	}
	server, err := aggregation.Start(ctx, aggregation.Config{
		Binary:       *binary,
		DataDir:      absoluteDataDir,
		Kubeconfig:   kubeconfig,
		Registrar:    cluster,
		BindAddress:  place.bindAddress,
		ExternalName: place.externalName,
		Port:         *port,
		Args:         append([]string{"--developer-mode"}, flags.Args()...),
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `
metacontroller-apiserver serves the cluster %[1]s. Registered there:
  namespace   %[2]s
  service     %[2]s/%[3]s (%[4]s)
  apiservice  %[5]s, Available
Its storage is in %[6]s. It runs in developer mode: it logs what each sync changes.
When you are done, delete your controllers, take the registration away with 'make run-clean' in another terminal, and
then stop the server with Ctrl-C.

`, cluster.Host, aggregation.Namespace, aggregation.ServiceName, server.Registration, aggregation.APIServiceName, absoluteDataDir)

	select {
	case <-server.Done():
		return server.Exited()
	case <-ctx.Done():
		fmt.Fprintln(out, "Stopping. If the registration is still there, it stays; while no server runs, namespaces cannot be deleted:",
			"'make run' starts the server again, and 'make run-clean' takes the registration away.")
		err := server.Stop()
		return errors.Join(err, aggregation.RemoveLease(context.WithoutCancel(ctx), cluster))
	}
}

// checkFree keeps a server from taking the place of one with another storage. A data directory that
// is new has no authority yet, which differs from every one that is registered.
func checkFree(ctx context.Context, cluster *rest.Config, dataDir string) error {
	ca, err := os.ReadFile(aggregation.CAPath(dataDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the server's authority: %w", err)
	}
	return aggregation.CheckFree(ctx, cluster, ca)
}
