// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// reserveFileName is a file in the data directory that holds nothing but space.
const reserveFileName = "reserve"

// reserve is space of the volume that nobody uses. When the volume is full, it is given back: etcd
// cannot start without some space, because it allocates the next segment of its log, and applies
// the last entries of the log to the database.
type reserve struct {
	path string
	size int64
	held atomic.Bool
}

func newReserve(dataDir string, size int64) *reserve {
	r := &reserve{path: filepath.Join(dataDir, reserveFileName), size: size}
	info, err := os.Stat(r.path)
	r.held.Store(err == nil && allocated(info) > 0)
	return r
}

// missing returns how much has to be set aside yet, in bytes.
func (r *reserve) missing() int64 {
	if r.held.Load() {
		return 0
	}
	return r.size
}

// hold sets the space aside. A file system that cannot allocate space holds none.
func (r *reserve) hold() (err error) {
	if r.missing() == 0 {
		return nil
	}
	file, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fileutil.PrivateFileMode)
	if err != nil {
		return fmt.Errorf("making the reserve of the storage: %w", err)
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if !r.held.Load() {
			err = errors.Join(err, ignoreMissing(os.Remove(r.path)))
		}
	}()
	if err := fileutil.Preallocate(file, r.size, true); err != nil {
		return fmt.Errorf("making the reserve of the storage %s: %w", r.path, err)
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("making the reserve of the storage: %w", err)
	}
	if allocated(info) < r.size {
		r.size = 0
		return nil
	}
	r.held.Store(true)
	return nil
}

// giveBack frees the space.
func (r *reserve) giveBack() error {
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("giving the reserve of the storage back: %w", err)
	}
	r.held.Store(false)
	return nil
}
