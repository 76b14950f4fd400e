// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// maxListed is how many children a message names at most.
const maxListed = 5

// duplicateWarnings returns the warning that children are listed more than once; none if there are no
// such children.
func duplicateWarnings(children []string) []pipeline.Warning {
	switch len(children) {
	case 0:
		return nil
	case 1:
		return []pipeline.Warning{{Reason: pipeline.DuplicateChild,
			Message: "the hook lists " + children[0] + " more than once, and the last one counts; list it once"}}
	default:
		return []pipeline.Warning{{Reason: pipeline.DuplicateChild,
			Message: "the hook lists children more than once, and the last one of each counts; list each once: " + enumerate.First(maxListed, children)}}
	}
}
