// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"net/http"
)

// ExplainStatus says which credentials a hook was called with, if it refused them with this status.
// The text goes after the error; it is empty for other statuses.
func (t *Transport) ExplainStatus(status int) string {
	if status != http.StatusUnauthorized && status != http.StatusForbidden {
		return ""
	}
	s := &t.settings
	switch {
	case s.authorization != nil:
		return s.refused("authorization")
	case s.basicAuth != nil:
		return s.refused("basicAuth")
	}
	return fmt.Sprintf("; the controller sends no credentials: if the hook wants some, set %s.authorization or .basicAuth", s.path)
}

func (s *settings) refused(field string) string {
	return fmt.Sprintf("; the controller sends the credentials of %s.%s: check that they are the ones that the hook wants", s.path, field)
}
