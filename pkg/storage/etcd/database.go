// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
)

// viewDatabase reads the file of a database that no etcd has open. It returns an error if the file cannot be read.
func viewDatabase(path string, read func(*bbolt.Tx) error) (err error) {
	// If pages are damaged, bbolt panics or reads beyond the end of the file.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%s is damaged: %v", path, reason)
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = db.Close() }()
	return db.View(read)
}
