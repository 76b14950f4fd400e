// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package server

import (
	"errors"
	"time"
)

// setTimerSlack returns an error: only Linux has a timer slack.
func setTimerSlack(time.Duration) error { return errors.ErrUnsupported }
