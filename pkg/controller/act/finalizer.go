// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"slices"
	"strconv"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// upon returns the steps about the finalizer that may be taken after what came of the
// others, based on what these made of the parent.
func upon(outcomes []stage.Outcome, steps []stage.Step) []stage.Step {
	if slices.ContainsFunc(outcomes, func(o stage.Outcome) bool { return o.Err != nil || o.Overtaken }) {
		return nil
	}
	for _, outcome := range outcomes {
		if outcome.Op != stage.Status || outcome.Result == nil {
			continue
		}
		for i := range steps {
			steps[i].Body = withResourceVersion(steps[i].Body, outcome.Result.ResourceVersion)
		}
	}
	return steps
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
