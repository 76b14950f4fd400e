// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"time"
)

// refused takes note that the host refuses to list.
func (s *informer) refused(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		close(s.hasRefused)
	}
	s.failure = fmt.Errorf("failed to list %s: %w", s.scope.of, err)
}

// blindness is why the host has let nothing be watched for that long of what a user reads, or
// waits for; nil if it has. How others fare who want more is nothing to the user.
func (s *informer) blindness(user *View, patience time.Duration) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	of := s.current
	if !user.admitted && s.next != nil {
		of = s.next
	}
	if of.blind.since.IsZero() || time.Since(of.blind.since) < patience {
		return nil
	}
	return of.blind.why
}

// watched takes note of how the request for a watch ended.
func (c *contents) watched(err error) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	switch {
	case err == nil:
		c.blind.since, c.blind.why = time.Time{}, nil
	case c.blind.since.IsZero():
		c.blind.since, c.blind.why = time.Now(), err
	default:
		c.blind.why = err
	}
}
