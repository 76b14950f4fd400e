// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import "github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"

// Outcome is what came of a step. It succeeded if Err is nil and neither conflict is true.
type Outcome struct {
	Step
	// Result is the object as the host stored it; nil if nothing was stored.
	Result *object.Object
	// Err is why the step failed; nil if it did not.
	Err error
	// Conflict is true if nothing was written because the object has changed since it was
	// observed. The next sync decides again.
	Conflict bool
	// NameConflict is true if a child was not created because an object of its name exists
	// that is not the parent's.
	NameConflict bool
}
