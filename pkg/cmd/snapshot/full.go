// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
	"syscall"
)

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// explainFull adds to an error of a full volume what to do about it. Other errors stay as they are.
func explainFull(err error, dir string) error {
	if isFull(err) {
		return fmt.Errorf("%w; the volume of %s is full: enlarge it", err, dir)
	}
	return err
}
