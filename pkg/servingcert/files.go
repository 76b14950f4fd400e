// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of the files in the directory.
const (
	authorityCertFile = "ca.crt"
	authorityKeyFile  = "ca.key"
	servingCertFile   = "serving.crt"
	servingKeyFile    = "serving.key"
)

const (
	publicMode  fs.FileMode = 0o644
	privateMode fs.FileMode = 0o600
)

// readFile returns the content of a file, or nil if it does not exist.
func readFile(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// writeFile replaces a file atomically: a reader finds either the old content or the new one, also
// after a crash.
func writeFile(path string, content []byte, mode fs.FileMode) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-") // mode 0600
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(content)
	if err := errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
