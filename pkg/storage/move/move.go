// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// Moved is what was moved.
type Moved struct {
	Keys int
	// From and To are the revisions of the storages afterwards.
	From, To int64
}

// Move copies all keys with a prefix from one place to another one, where there must be none, unless an unfinished
// move has left them: that begins anew. A data directory that they were moved from cannot be used by mistake
// afterwards; keys in an etcd stay as they were. If it fails after it began to write, no server starts with the other
// place until a move has finished.
func Move(ctx context.Context, from, to Place, prefix string) (moved *Moved, err error) {
	prefix = etcd.KeyPrefix(prefix)
	if err := resume(ctx, from, to, prefix); err != nil {
		return nil, err
	}
	source, err := from.open(ctx, prefix)
	if err != nil {
		return nil, err
	}
	closeSource := sync.OnceValue(source.close)
	defer func() { err = errors.Join(err, closeSource()) }()
	moved = &Moved{}
	if moved.From, err = source.revision(ctx); err != nil {
		return nil, err
	}
	if err := source.expectSome(ctx); err != nil {
		return nil, err
	}
	asked := lastAsked(moved.From)
	target, err := to.receive(ctx, prefix, asked)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	if err := target.prepare(ctx, from, asked); err != nil {
		return nil, err
	}
	if moved.Keys, err = source.copyTo(ctx, target, moved.From); err != nil {
		return nil, err
	}
	if err := source.expectUnchanged(ctx, moved.Keys, moved.From); err != nil {
		return nil, err
	}
	if err := closeSource(); err != nil {
		return nil, err
	}
	if from.DataDir != "" {
		if err := etcd.MarkMoved(from.DataDir, to.String()); err != nil {
			return nil, err
		}
	}
	if moved.To, err = target.unmark(ctx); err != nil {
		return nil, err
	}
	return moved, target.finish()
}

// lastAsked returns the highest revision from which a client may watch, if last is the last one of its storage: a client that has
// seen everything watches from the next one.
func lastAsked(last int64) int64 { return last + 1 }

// prepare marks an empty storage, and has its revisions begin above those that a client may ask for. What can fail
// for want of a right, or for good, comes before anything is written.
func (s *storage) prepare(ctx context.Context, from Place, asked int64) error {
	if err := s.expectNear(ctx, asked); err != nil {
		return err
	}
	if err := s.expectMayForget(ctx); err != nil {
		return err
	}
	mark, err := newMark(from)
	if err != nil {
		return err
	}
	if err := s.begin(ctx, mark); err != nil {
		return err
	}
	if err := s.raise(ctx, asked); err != nil {
		return err
	}
	return s.forget(ctx)
}

// resume removes the file that marks a data directory as moved, if the mark in the etcd says that the move has not finished: it
// ended between its last two steps, and begins anew.
func resume(ctx context.Context, from, to Place, prefix string) error {
	if from.DataDir == "" || to.DataDir != "" {
		return nil
	}
	if is, err := etcd.IsMoved(from.DataDir, to.String()); err != nil || !is {
		return err
	}
	target, err := to.open(ctx, prefix)
	if err != nil {
		return err
	}
	mark, err := readMark(ctx, target.Client, prefix)
	if err == nil && mark != "" {
		err = etcd.UnmarkMoved(from.DataDir)
	}
	return errors.Join(err, target.close())
}
