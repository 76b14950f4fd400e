// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// unmet says what a sync that did not fail has not done: create children whose names
// somebody else has, and write again what is slowed down.
func unmet(taken []pipeline.Key, slowedDown time.Duration) error {
	switch {
	case len(taken) > 0:
		return fmt.Errorf("the names of children belong to others: %s", strings.Join(named(taken), ", "))
	case slowedDown > 0:
		return errors.New("what would be written again and again is slowed down, see the condition Stable")
	}
	return nil
}

// named are the objects as messages name them, in order.
func named(keys []pipeline.Key) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.String()
	}
	slices.Sort(names)
	return names
}
