// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package line

import (
	"strings"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// tellDuplicates has an event written about children that the hook lists more than once.
func (c *Controller) tellDuplicates(memory *memory, snapshot *stage.Snapshot, planned *stage.Plan) {
	if found := planned.Duplicates; len(found) > 0 && memory.duplicates.news(strings.Join(found, "\n"), time.Now()) {
		c.Events.DuplicateChildren(snapshot.Parent, found)
	}
}
