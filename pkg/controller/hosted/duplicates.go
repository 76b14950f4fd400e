// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"strings"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// tellDuplicates has an event written about children that the hook lists more than once.
func (c *Controller) tellDuplicates(memory *memory, snapshot *pipeline.Snapshot, planned *pipeline.Plan) {
	if found := planned.Duplicates; len(found) > 0 && memory.duplicates.news(strings.Join(found, "\n"), time.Now()) {
		c.Events.DuplicateChildren(snapshot.Parent, found)
	}
}
