// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/server"
)

// save is what the command `snapshot save` is told.
type save struct {
	kubeconfig, context string
	// directory is where a file with the time as its name is made, instead of a named one.
	directory string
	// keep is how many such files are kept; 0 for all.
	keep int
}

func newSave() *cobra.Command {
	var s save
	command := &cobra.Command{
		Use:   "save [FILE | -]",
		Short: "Save a snapshot of the storage of a running server",
		Long: `Saves a snapshot of the storage of a running server in FILE, or writes it to stdout. A FILE whose name ends
in .gz is compressed. The server is reached through the cluster that it extends, with the kubeconfig of --kubeconfig,
of $KUBECONFIG or of the Pod. The user needs the verb get on the resource snapshots of metacontroller.k8s.io.`,
		Example: `  metacontroller-apiserver snapshot save metacontroller.db.gz
  metacontroller-apiserver snapshot save --directory=/snapshots --keep=28`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			// A signal ends the save by an error, after which its part is removed. A second one ends the process at
			// once.
			ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop)
			return s.run(ctx, args, command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "The kubeconfig of the cluster.")
	flags.StringVar(&s.context, "context", "", "The context of the kubeconfig.")
	flags.StringVar(&s.directory, "directory", "", "Make a compressed file in this directory, with the time as its name. "+
		"What a killed save has left there is removed by one that runs an hour later.")
	flags.IntVar(&s.keep, "keep", 0, "With --directory, how many of these files are kept. 0 keeps all. On a full "+
		"volume, the oldest are removed, down to three. Files with other names stay, and do not count.")
	return command
}

func (s *save) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if (len(args) == 1) == (s.directory != "") {
		return errors.New("say where to save the snapshot: either FILE, or - for stdout, or --directory")
	}
	if s.keep < 0 || s.keep > 0 && s.directory == "" {
		return fmt.Errorf("--keep=%d: a number of files, with --directory", s.keep)
	}
	open := func() (io.ReadCloser, error) { return s.open(ctx) }
	switch {
	case len(args) == 0:
		return directory{path: s.directory, keep: s.keep}.save(open, stderr)
	case args[0] != "-":
		return explainFull(saveAs(open, args[0], stderr), filepath.Dir(args[0]))
	}
	snapshot, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = snapshot.Close() }()
	return receive(snapshot, stdout)
}

// open asks the server for a snapshot.
func (s *save) open(ctx context.Context) (io.ReadCloser, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.context}).ClientConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	snapshot, err := client.Discovery().RESTClient().Get().AbsPath(server.SnapshotPath).Stream(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("get a snapshot: %w; no server that can be asked extends the cluster", err)
	case err != nil:
		return nil, fmt.Errorf("get a snapshot: %w", err)
	}
	return snapshot, nil
}
