// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/server"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// save holds the options of the command `snapshot save`.
type save struct {
	kubeconfig, context string
	// directory is the directory in which a file is created under the time as its name, instead of under a given
	// name.
	directory string
	// keep is the number of such files to keep; 0 keeps all.
	keep int
}

func newSave() *cobra.Command {
	var s save
	command := &cobra.Command{
		Use:   "save [FILE | -]",
		Short: "Save a snapshot of the storage of a running server",
		Long: `Saves a snapshot of the storage of a running server in FILE, or writes it to stdout. A FILE whose name ends
in .gz is compressed. The command reaches the server through the cluster that it extends, with the kubeconfig of
--kubeconfig or $KUBECONFIG, or with the ServiceAccount of its Pod. The user needs the verb get on the resource
snapshots of metacontroller.k8s.io.`,
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
	flags.StringVar(&s.context, "context", "", "The context to use from the kubeconfig.")
	flags.StringVar(&s.directory, "directory", "", "Save to a compressed file in this directory, with the current time "+
		"as its name. If a save is killed, a save at least an hour later removes its incomplete file.")
	flags.IntVar(&s.keep, "keep", 0, "With --directory, the number of snapshot files to keep. 0 keeps all. If the "+
		"volume is full, the command removes the oldest files until three are left. It ignores files with other names.")
	return command
}

func (s *save) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if (len(args) == 1) == (s.directory != "") {
		return errors.New("specify FILE, - for stdout, or --directory")
	}
	if s.keep < 0 || s.keep > 0 && s.directory == "" {
		return fmt.Errorf("--keep=%d: must be 0 or more, and requires --directory", s.keep)
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
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: s.context}).ClientConfig()
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
		return nil, fmt.Errorf("get a snapshot: %w; the cluster has no available metacontroller-apiserver", err)
	case err != nil:
		return nil, fmt.Errorf("get a snapshot: %w", err)
	}
	return snapshot, nil
}

// saveAs writes a snapshot to a file, and prints its name.
func saveAs(open func() (io.ReadCloser, error), path string, stderr io.Writer) error {
	snapshot, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = snapshot.Close() }()
	size, err := saveFile(snapshot, path)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "Saved %s: %s\n", path, sizeText(size))
	return nil
}

// saveFile writes a complete snapshot to a file and returns the size of the file in bytes. It compresses the file if
// its name ends in ".gz". It changes no other file.
func saveFile(snapshot io.Reader, path string) (size int64, err error) {
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		return 0, errors.Join(fmt.Errorf("%s already exists", path), err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+partMark+"*")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	copying := receive
	if strings.HasSuffix(path, ".gz") {
		copying = compress
	}
	if err := errors.Join(copying(snapshot, file), file.Sync(), file.Close()); err != nil {
		return 0, fmt.Errorf("save %s: %w", path, err)
	}
	info, err := os.Stat(file.Name())
	if err != nil {
		return 0, err
	}
	return info.Size(), os.Rename(file.Name(), path)
}

func compress(snapshot io.Reader, into io.Writer) error {
	zip := gzip.NewWriter(into)
	if err := receive(snapshot, zip); err != nil {
		return err
	}
	return zip.Close()
}

// receive copies a snapshot. It returns an error if the snapshot is incomplete.
func receive(snapshot io.Reader, into io.Writer) error {
	checksum := etcd.NewChecksum()
	if _, err := io.Copy(io.MultiWriter(into, checksum), snapshot); err != nil {
		return fmt.Errorf("copy the snapshot: %w", err)
	}
	return checksum.Verify()
}

const (
	// fileTime is the format of the names of snapshots in a directory. Files with other names are neither counted nor
	// removed.
	fileTime = "metacontroller-20060102T150405.000Z.db.gz"
	// partMark is in the name of a part, which is a snapshot that is still being copied. It follows the name that the
	// file gets when it is complete, and a random text follows it.
	partMark = ".part-"
)

// fileName returns the name of a snapshot that is saved at a time.
func fileName(at time.Time) string { return at.UTC().Format(fileTime) }

// savedAt returns the time in the name of a snapshot. It returns false for a name that fileName does not give.
func savedAt(name string) (time.Time, bool) {
	at, err := time.Parse(fileTime, name)
	return at, err == nil && fileName(at) == name
}
