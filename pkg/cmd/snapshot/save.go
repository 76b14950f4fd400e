// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/server"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
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
		Long: `Saves a snapshot of the storage of a running server in FILE, or writes it to stdout. The server is reached through
the cluster that it extends, with the kubeconfig of --kubeconfig, of $KUBECONFIG or of the Pod. The user needs the
verb get on the resource snapshots of metacontroller.k8s.io.`,
		Example: `  metacontroller-apiserver snapshot save metacontroller.db
  metacontroller-apiserver snapshot save --directory=/snapshots --keep=28`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return s.run(command.Context(), args, command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "The kubeconfig of the cluster.")
	flags.StringVar(&s.context, "context", "", "The context of the kubeconfig.")
	flags.StringVar(&s.directory, "directory", "", "Make a file in this directory, with the time as its name.")
	flags.IntVar(&s.keep, "keep", 0, "With --directory, how many of these files are kept. 0 keeps all.")
	return command
}

func (s *save) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if (len(args) == 1) == (s.directory != "") {
		return errors.New("say where to save the snapshot: either FILE, or - for stdout, or --directory")
	}
	if s.keep < 0 || s.keep > 0 && s.directory == "" {
		return fmt.Errorf("--keep=%d: a number of files, with --directory", s.keep)
	}
	snapshot, err := s.open(ctx)
	if err != nil {
		return fmt.Errorf("get a snapshot: %w", err)
	}
	defer func() { _ = snapshot.Close() }()
	if len(args) == 1 && args[0] == "-" {
		return receive(snapshot, stdout)
	}
	path := filepath.Join(s.directory, fileName(time.Now()))
	if len(args) == 1 {
		path = args[0]
	}
	info, err := saveFile(snapshot, path)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "Saved %s: %d keys as of revision %d, %s\n", path, info.Keys, info.Revision, sizeText(info.Size))
	return s.prune()
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
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w; no server that can be asked extends the cluster", err)
	}
	return snapshot, err
}

// receive copies a snapshot. It returns an error if that is not the whole one.
func receive(snapshot io.Reader, into io.Writer) error {
	checksum := etcd.NewChecksum()
	if _, err := io.Copy(io.MultiWriter(into, checksum), snapshot); err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	return checksum.Verify()
}

// saveFile makes a file of a snapshot, which must be whole and sound. No other file is touched.
func saveFile(snapshot io.Reader, path string) (*etcd.SnapshotInfo, error) {
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		return nil, errors.Join(fmt.Errorf("%s exists already", path), err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+partPattern)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := errors.Join(receive(snapshot, file), file.Sync(), file.Close()); err != nil {
		return nil, fmt.Errorf("save %s: %w", path, err)
	}
	info, err := etcd.InspectSnapshot(file.Name())
	if err != nil {
		return nil, err
	}
	return info, os.Rename(file.Name(), path)
}

const (
	filePattern = "metacontroller-*.db"
	fileTime    = "20060102T150405.000Z"
	partPattern = ".part-*"
)

func fileName(at time.Time) string {
	return "metacontroller-" + at.UTC().Format(fileTime) + ".db"
}

// abandonedAfter is after how long without a write a part is what a save has left that was killed.
const abandonedAfter = time.Hour

// prune removes the oldest files of the directory, and what saves have left that were killed.
func (s *save) prune() error {
	if s.keep == 0 {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(s.directory, filePattern)) // in order of time
	if err != nil {
		return err
	}
	parts, err := filepath.Glob(filepath.Join(s.directory, filePattern+partPattern))
	if err != nil {
		return err
	}
	old := files[:max(0, len(files)-s.keep)]
	for _, part := range parts {
		if info, err := os.Stat(part); err == nil && time.Since(info.ModTime()) > abandonedAfter {
			old = append(old, part)
		}
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove an old snapshot: %w", err)
		}
	}
	return nil
}
