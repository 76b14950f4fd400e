// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "strings"

// maxMessage is the maximum length, in bytes, of the message of a condition.
const maxMessage = 32768

// message returns a text of the controller's health as the status shows it: its beginning or, with
// WholeErrors, as much of it as a condition can have.
func (h *Health) message(text string) string {
	switch {
	case !h.WholeErrors:
		return truncate(text)
	default:
		return beginning(text, maxMessage)
	}
}

// beginning returns as much of a text as has that many bytes.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(text[:most-len(ellipsis)], "") + ellipsis
}
