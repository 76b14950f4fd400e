// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
)

// removeLeftovers removes the files that a killed process leaves behind and that no start uses: the
// copy of the database that a defragmentation was writing, and segments of the log that were
// allocated in advance. They can take as much space as the database. The directory must be locked.
func removeLeftovers(logger klog.Logger, etcdDir string) error {
	var errs []error
	for _, pattern := range []string{
		filepath.Join(etcdDir, "member", "snap", "db.tmp*"),
		filepath.Join(etcdDir, "member", "wal", "*.tmp"),
	} {
		files, err := filepath.Glob(pattern)
		errs = append(errs, err)
		for _, file := range files {
			if err := os.Remove(file); ignoreMissing(err) != nil {
				errs = append(errs, fmt.Errorf("removing what a killed process left behind: %w", err))
				continue
			}
			logger.V(2).Info("Removed a file that a killed process left behind", "file", file)
		}
	}
	return errors.Join(errs...)
}
