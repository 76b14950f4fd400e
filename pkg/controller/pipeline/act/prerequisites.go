// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"slices"
	"strconv"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// afterPrerequisites returns the steps that may be taken after the outcomes of earlier phases. A
// write of the parent gets the resource version that an earlier write of the parent resulted in.
func afterPrerequisites(outcomes []pipeline.Outcome, steps []pipeline.Step) []pipeline.Step {
	var version string
	for _, outcome := range outcomes {
		failed := outcome.Err != nil || outcome.Conflict
		switch {
		case failed && outcome.Op.OnParent():
			return nil
		case failed:
			steps = slices.DeleteFunc(steps, func(step pipeline.Step) bool { return step.Op == pipeline.Finalizer })
		case outcome.Op.OnParent() && outcome.Result != nil:
			version = outcome.Result.ResourceVersion
		}
	}
	for i := range steps {
		if version != "" && steps[i].Op.OnParent() {
			steps[i].Body = withResourceVersion(steps[i].Body, version)
		}
	}
	return steps
}

// withResourceVersion returns the JSON of an object with another resource version. It returns what
// is no object as it is: the host refuses it.
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
