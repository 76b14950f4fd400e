// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
	"syscall"
)

// makeRoom is the advice for a full volume where fewer snapshots cannot be kept.
const makeRoom = "enlarge it, or remove what else is on it"

// explainFull adds to an error of a full volume the advice what to do about it. Other errors stay as they are.
func explainFull(err error, dir, advice string) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w; the volume of %s is full: %s", err, dir, advice)
	}
	return err
}

// adviceWhenFull returns the advice for a volume that is full of the snapshots of the directory.
func (d directory) adviceWhenFull() string {
	switch d.keep {
	case 0:
		return "set --keep, with which the oldest snapshots are removed, or enlarge the volume"
	case 1:
		return makeRoom + "; it must have room for one snapshot more than --keep, which is 1"
	}
	return fmt.Sprintf("lower --keep, or enlarge the volume; it must have room for one snapshot more than --keep, which is %d",
		d.keep)
}
