// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"slices"
	"strconv"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// afterPrerequisites returns the steps that may be taken after what came of the others. Those that
// write the parent are based on what these made of it.
func afterPrerequisites(outcomes []pipeline.Outcome, steps []pipeline.Step) []pipeline.Step {
	var version string
	for _, outcome := range outcomes {
		failed := outcome.Err != nil || outcome.Conflict
		switch {
		case failed && writesParent(outcome.Op):
			return nil
		case failed:
			steps = slices.DeleteFunc(steps, func(step pipeline.Step) bool { return step.Op == pipeline.Finalizer })
		case writesParent(outcome.Op) && outcome.Result != nil:
			version = outcome.Result.ResourceVersion
		}
	}
	for i := range steps {
		if version != "" && writesParent(steps[i].Op) {
			steps[i].Body = withResourceVersion(steps[i].Body, version)
		}
	}
	return steps
}

func writesParent(op pipeline.Op) bool {
	return op == pipeline.Status || op == pipeline.Metadata || op == pipeline.Finalizer
}

// withResourceVersion is the JSON of an object with another resource version. If it is
// no object, the host will say so of the body as it is.
func withResourceVersion(body []byte, version string) []byte {
	metadata, err := object.WithMember(object.Lookup(body, "metadata"), "resourceVersion", strconv.AppendQuote(nil, version))
	if err != nil {
		return body
	}
	changed, err := object.WithMember(body, "metadata", metadata)
	if err != nil {
		return body
	}
	return changed
}
