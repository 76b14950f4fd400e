// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package server

import "errors"

// setAtRest returns an error: only Linux has a timer slack.
func setAtRest(bool) error { return errors.ErrUnsupported }
