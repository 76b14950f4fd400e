// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package replicas

import "time"

// sinceBoot returns 0: the other clock counts alone.
func sinceBoot() time.Duration { return 0 }
