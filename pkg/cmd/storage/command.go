// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage has the command that moves all objects to another storage.
package storage

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/client/pkg/v3/transport"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/move"
)

// NewCommand returns the command with its subcommand.
func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "storage",
		Short: "Move all objects to another storage",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
		// These commands have no flags of the server.
		PersistentPreRun: func(*cobra.Command, []string) {},
		SilenceUsage:     true,
	}
	plain := &cobra.Command{}
	command.SetUsageFunc(plain.UsageFunc())
	command.SetHelpFunc(plain.HelpFunc())
	command.SetFlagErrorFunc(plain.FlagErrorFunc())
	command.AddCommand(newMove())
	return command
}

// options are what the command `storage move` is told.
type options struct {
	from, to, prefix string
	tls              transport.TLSInfo
}

func newMove() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "move --from=PLACE --to=PLACE",
		Short: "Move all objects from a data directory to an etcd, or the other way",
		Long: `Moves all objects from a data directory to an etcd, or the other way. A PLACE is a directory or the URLs of an etcd,
separated by commas. Stop all servers that use one of them before. The place that the objects are moved to must have
none. Resource versions go on rising, and clients that watch list again. To make that so, the history of the etcd is
compacted. If the etcd has users, that needs the role root; to move from it, the right to read the keys is enough.

No server starts with the place that the objects are moved to until the move has finished. If it was ended before,
run it again: it begins anew.`,
		Example: `  metacontroller-apiserver storage move --from=/var/lib/metacontroller --to=https://etcd-0:2379,https://etcd-1:2379 \
    --etcd-cafile=ca.crt --etcd-certfile=tls.crt --etcd-keyfile=tls.key`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context(), command.ErrOrStderr()) },
	}
	flags := command.Flags()
	flags.StringVar(&o.from, "from", "", "Where the objects are.")
	flags.StringVar(&o.to, "to", "", "Where the objects are to be.")
	flags.StringVar(&o.prefix, "etcd-prefix", "/metacontroller", "The prefix of all keys, as the server has it.")
	flags.StringVar(&o.tls.TrustedCAFile, "etcd-cafile", "", "The authority of the etcd.")
	flags.StringVar(&o.tls.CertFile, "etcd-certfile", "", "The client certificate for the etcd.")
	flags.StringVar(&o.tls.KeyFile, "etcd-keyfile", "", "The key of the client certificate.")
	return command
}

func (o *options) run(ctx context.Context, stderr io.Writer) error {
	if o.from == "" || o.to == "" {
		return errors.New("--from and --to are needed: a data directory, or the URLs of an etcd")
	}
	if isURL(o.from) == isURL(o.to) {
		return errors.New("--from and --to: one must be a data directory, the other one an etcd; copy a data directory by a snapshot instead")
	}
	from, err := o.place(o.from)
	if err != nil {
		return err
	}
	to, err := o.place(o.to)
	if err != nil {
		return err
	}
	moved, err := move.Move(ctx, from, to, o.prefix)
	if err != nil {
		return fmt.Errorf("move from %s to %s: %w", from, to, err)
	}
	fmt.Fprintf(stderr, "Moved %d objects from %s to %s. Resource versions were at %d, and are at %d.\n", moved.Keys, from, to, moved.From, moved.To)
	return nil
}

func isURL(place string) bool { return strings.Contains(place, "://") }

func (o *options) place(text string) (move.Place, error) {
	if !isURL(text) {
		return move.Place{DataDir: text}, nil
	}
	var config *tls.Config
	if !o.tls.Empty() || o.tls.TrustedCAFile != "" {
		var err error
		if config, err = o.tls.ClientConfig(); err != nil {
			return move.Place{}, fmt.Errorf("certificates for %s: %w", text, err)
		}
	}
	return move.Place{Servers: strings.Split(text, ","), TLS: config}, nil
}
