// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import "github.com/metacontroller/metacontroller-apiserver/test/harness/process"

// Usage is what the server takes of the machine.
func (e *Env) Usage() (process.Usage, error) { return process.UsageOf(e.Server.PID()) }
